"""Renders the Helm chart: the part of Go's template language that the chart uses, and nothing else.

source ─► actions (text, {{ … }}) ─► tree of blocks ─► text

A function or form that is not here is an error, not an empty text. `make deploy-check` uses Helm itself if it is there.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

_ACTION = re.compile(r"(\s*)\{\{(-?)\s*(.*?)\s*(-?)\}\}(\s*)", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|:=|[()|,]|[^\s()|,]+')
_BLOCKS = ("if", "with", "range", "define")

Node = str | tuple[str, str, list[Any], list[Any]]  # text, or (word, expression, body, else)


class Chart:
    """A chart with its templates and default values."""

    def __init__(self, folder: Path) -> None:
        about = yaml.safe_load((folder / "Chart.yaml").read_text())
        self.values: dict[str, Any] = yaml.safe_load((folder / "values.yaml").read_text())
        self.about = {"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]}
        self._definitions: dict[str, list[Node]] = {}
        self._templates: dict[str, list[Node]] = {}
        for path in sorted((folder / "templates").iterdir()):
            nodes, _ = _parse(_split(path.read_text()))
            self._templates[path.name] = nodes
            self._definitions |= {
                json.loads(node[1]): node[2] for node in nodes if isinstance(node, tuple) and node[0] == "define"
            }

    def render(self, changes: Mapping[str, Any] | None = None, name: str = "shop") -> list[dict[str, Any]]:
        """Return the objects of the chart with changed values."""
        values = _merged(self.values, changes or {})
        release = {"Name": name, "Namespace": "default", "Service": "Helm"}
        context = {"Values": values, "Chart": self.about, "Release": release}
        texts = [
            _Rendering(self._definitions).text(nodes, context, {"$": context})
            for file, nodes in self._templates.items()
            if file.endswith(".yaml")
        ]
        return [parsed for text in texts if (parsed := yaml.safe_load(text)) is not None]


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    unknown = changes.keys() - values.keys()
    assert not unknown, f"the chart has no values {unknown}"
    return {
        name: {**value, **changes[name]} if isinstance(value, dict) and name in changes else changes.get(name, value)
        for name, value in values.items()
    }


def _split(source: str) -> Iterator[tuple[bool, str]]:
    """Return texts (False) and actions (True), with the spaces that `{{-` and `-}}` remove removed."""
    end = 0
    for found in _ACTION.finditer(source):
        before, trim_left, action, trim_right, after = found.groups()
        yield False, source[end : found.start()] + ("" if trim_left else before)
        if not action.startswith("/*"):
            yield True, action
        # What follows may belong to the next action too: only remove it here, and let the search go on.
        end = found.end() if trim_right else found.end() - len(after)
    yield False, source[end:]


def _parse(parts: Iterator[tuple[bool, str]]) -> tuple[list[Node], str]:
    """Return the nodes up to the end of the block, and the word that ended it."""
    nodes: list[Node] = []
    for is_action, text in parts:
        word, _, rest = text.partition(" ")
        if not is_action:
            nodes.append(text)
        elif word in ("end", "else"):
            return nodes, word
        elif word in _BLOCKS:
            body, ended = _parse(parts)
            other = _parse(parts)[0] if ended == "else" else []
            nodes.append((word, rest.strip(), body, other))
        else:
            nodes.append(("print", text, [], []))
    return nodes, ""


class _Rendering:
    def __init__(self, definitions: Mapping[str, list[Node]]) -> None:
        self._definitions = definitions
        self._functions: dict[str, Callable[..., Any]] = {
            "include": lambda name, dot: self.text(definitions[name], dot, {}),
            "toYaml": lambda value: yaml.safe_dump(value).removesuffix("\n"),
            "toJson": lambda value: json.dumps(value, separators=(",", ":")),
            "nindent": lambda width, text: "\n" + "\n".join(" " * width + line for line in text.split("\n")),
            "quote": lambda value: json.dumps(_shown(value)),
            "default": lambda fallback, value: value or fallback,
            "trunc": lambda length, text: text[:length],
            "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
            "div": lambda a, b: a // b,
            "not": lambda value: not value,
            "and": lambda *values: next((value for value in values if not value), values[-1]),
        }

    def text(self, nodes: list[Node], dot: Any, names: Mapping[str, Any]) -> str:
        return "".join(node if isinstance(node, str) else self._block(node, dot, names) for node in nodes)

    def _block(self, node: tuple[str, str, list[Any], list[Any]], dot: Any, names: Mapping[str, Any]) -> str:
        word, expression, body, other = node
        if word == "define":
            return ""
        if word == "range":
            declared, _, source = expression.partition(":=")
            key, value = (name.strip() for name in declared.split(","))
            items = self._value(source, dot, names)
            return "".join(self.text(body, items[one], {**names, key: one, value: items[one]}) for one in sorted(items))
        found = self._value(expression, dot, names)
        if word == "print":
            return _shown(found)
        if not found:
            return self.text(other, dot, names)
        return self.text(body, found if word == "with" else dot, names)

    def _value(self, expression: str, dot: Any, names: Mapping[str, Any]) -> Any:
        tokens = _TOKEN.findall(expression)
        value = self._pipeline(tokens, dot, names)
        assert not tokens, f"cannot read {expression}"
        return value

    def _pipeline(self, tokens: list[str], dot: Any, names: Mapping[str, Any]) -> Any:
        value = self._command(tokens, dot, names)
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            value = self._command(tokens, dot, names, (value,))
        return value

    def _command(self, tokens: list[str], dot: Any, names: Mapping[str, Any], piped: tuple[Any, ...] = ()) -> Any:
        function = self._functions[tokens.pop(0)] if tokens[0][0].isalpha() else None
        arguments = []
        while tokens and tokens[0] not in ("|", ")"):
            arguments.append(self._operand(tokens, dot, names))
        if function is not None:
            return function(*arguments, *piped)
        assert len(arguments) == 1, f"a value is no function: {arguments}"
        assert not piped
        return arguments[0]

    def _operand(self, tokens: list[str], dot: Any, names: Mapping[str, Any]) -> Any:
        token = tokens.pop(0)
        if token == "(":
            value = self._pipeline(tokens, dot, names)
            assert tokens.pop(0) == ")"
            return value
        if token[0] == '"' or token.isdigit():
            return json.loads(token)
        first, *path = token.split(".")
        dot = names[first] if first else dot
        for name in path:
            dot = dot[name] if name else dot
        return dot


def _shown(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
