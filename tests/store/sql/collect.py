"""Finds the text of every statement that the source runs, without running it.

A statement is the argument of a function that runs one (`fetch`, `execute`, …). Its text may be put together from
constants, conditions, local names and arguments of callers: all texts that it can have are returned.
"""

import ast
import importlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

RUNS = {"fetch", "fetchrow", "fetchval", "execute", "executemany", "fetchmany", "cursor", "changes", "copy_from_query"}
NAMED = {"statement", "statement_rows"}  # return a text as it is run, with its arguments
CHUNKS = {"delete_in_chunks"}  # the text is the second argument
COPIES = {"copy_to_table", "copy_records_to_table", "copy_from_table"}  # name a table and no statement
_MOST = 200  # texts of one statement
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Unreadable(Exception):
    """An expression whose values are known only when it runs."""


Examples: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]


class Statement(NamedTuple):
    """A statement that is run in a function; `text` is None if it cannot be read."""

    place: str  # such as messages.queue.list_due
    text: str | None


class _Place(NamedTuple):
    module: "Module"
    function: _Function | None


class Module:
    """A module of the source."""

    def __init__(self, name: str, short: str, path: Path, values: dict[str, Any] | None = None) -> None:
        self.name = name
        self.short = short
        self._values = values
        self.tree = ast.parse(path.read_text())
        self.calls: list[tuple[ast.Call, _Function | None]] = []
        self._find_calls(self.tree, None)

    @cached_property
    def values(self) -> dict[str, Any]:
        """The names of the module."""
        return self._values if self._values is not None else vars(importlib.import_module(self.name))

    def _find_calls(self, node: ast.AST, function: _Function | None) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call):
                self.calls.append((child, function))
            self._find_calls(child, child if isinstance(child, _Function) else function)


class Source:
    """The modules whose statements are read.

    `examples` has values of local names and parameters, by place, for statements that depend on what callers choose.
    """

    def __init__(self, modules: Iterable[Module], examples: Examples | None = None) -> None:
        self.modules = list(modules)
        self.unused_examples = set(examples or ())
        self._examples = examples or {}
        self._example: Mapping[str, Any] = {}
        self._callers: dict[str, list[tuple[ast.Call, _Place]]] = {}
        self._open: set[tuple[int, str]] = set()  # names that are being read
        for module in self.modules:
            for call, function in module.calls:
                self._callers.setdefault(_called(call), []).append((call, _Place(module, function)))

    def statements(self) -> Iterator[Statement]:
        """Yield all statements, each with every text that it can have."""
        for module in self.modules:
            for call, function in module.calls:
                yield from self._statements_of(call, _Place(module, function))

    def _statements_of(self, call: ast.Call, place: _Place) -> Iterator[Statement]:
        called, name = _called(call), _name(place)
        expression = _text_of(call, called)
        if called in COPIES:
            yield Statement(name, None)
        if expression is None:
            return
        self.unused_examples.discard(name)
        texts: dict[str | None, None] = {}
        for example in self._examples.get(name, ({},)):
            self._example = example
            try:
                found = self._values(expression, place)
            except Unreadable:
                found = [None]
            texts |= dict.fromkeys(text if isinstance(text, str) else None for text in found)
        self._example = {}
        yield from (Statement(name, text) for text in texts)

    def _values(self, expression: ast.expr, place: _Place) -> list[Any]:
        """Return all values that an expression can have."""
        try:
            return self._computed(expression, place)
        except Unreadable:
            variants = _variants(expression)
            if len(variants) > 1:
                return [value for variant in variants for value in self._values(variant, place)]
            if isinstance(expression, ast.JoinedStr):
                return self._joined(expression, place)
            raise

    def _computed(self, expression: ast.expr, place: _Place) -> list[Any]:
        names = sorted(_free_names(expression) & _locals(place.function))
        each = [self._local(name, place) for name in names]
        code = compile(ast.Expression(expression), "<statement>", "eval")
        try:
            return [
                eval(code, {**place.module.values, **dict(zip(names, chosen, strict=True))})
                for chosen in _combinations(each)
            ]
        except Exception as error:
            raise Unreadable from error

    def _joined(self, expression: ast.JoinedStr, place: _Place) -> list[str]:
        """Return the texts of an f-string, whose parts are read one by one."""
        pieces = {ast.unparse(one.value): one.value for one in expression.values if isinstance(one, ast.FormattedValue)}
        each = [self._values(value, place) for value in pieces.values()]
        texts = []
        for chosen in _combinations(each):
            values = dict(zip(pieces, map(str, chosen), strict=True))
            texts.append(
                "".join(
                    values[ast.unparse(one.value)] if isinstance(one, ast.FormattedValue) else _constant(one)
                    for one in expression.values
                )
            )
        return texts

    def _local(self, name: str, place: _Place) -> list[Any]:
        """Return the values that a local name of a function can have."""
        function = place.function
        assert function is not None
        if name in self._example:
            return [self._example[name]]
        if (id(function), name) in self._open:
            raise Unreadable
        self._open.add((id(function), name))
        try:
            found = [value for node in ast.walk(function) for value in self._assigned(node, name, place)]
            for node in ast.walk(function):
                if isinstance(node, ast.AugAssign) and _is_name(node.target, name):
                    found += [before + added for before in found for added in self._values(node.value, place)]
            found += self._parameter(name, place)
        finally:
            self._open.discard((id(function), name))
        if not found:
            raise Unreadable
        return found

    def _assigned(self, node: ast.AST, name: str, place: _Place) -> Iterator[Any]:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from self._unpacked(target, node.value, name, place)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from self._unpacked(node.target, node.value, name, place)
        elif isinstance(node, ast.For | ast.AsyncFor) and _holds(node.target, name):
            for values in self._values(node.iter, place):
                yield from (_pick(node.target, value, name) for value in values)

    def _unpacked(self, target: ast.expr, value: ast.expr, name: str, place: _Place) -> Iterator[Any]:
        if not _holds(target, name):
            return
        first = isinstance(target, ast.Tuple) and _is_name(target.elts[0], name)
        if first and isinstance(value, ast.Call) and _called(value) in NAMED:
            yield from self._values(value.args[0], place)
            return
        for one in self._values(value, place):
            yield _pick(target, one, name)

    def _parameter(self, name: str, place: _Place) -> list[Any]:
        """Return the values that callers give for a parameter, with its default."""
        function = place.function
        assert function is not None
        arguments = function.args
        placed = [*arguments.posonlyargs, *arguments.args]
        known = {one.arg: one for one in [*placed, *arguments.kwonlyargs]}
        if name not in known:
            return []
        kind = ast.unparse(known[name].annotation or ast.Constant(None))
        if kind == "bool":
            return [False, True]
        if kind != "str" and not function.name.startswith("_"):
            raise Unreadable  # other parts of the program call it: the statement depends on what they choose
        found = [value for default in _defaults(arguments, name) for value in self._values(default, place)]
        own = [one.arg for one in placed if one.arg not in ("self", "cls")]
        for call, caller in self._callers.get(function.name, []):
            if function.name.startswith("_") and caller.module is not place.module:
                continue  # another function of the same name
            given = next((word.value for word in call.keywords if word.arg == name), None)
            if given is None and name in own and own.index(name) < len(call.args):
                given = call.args[own.index(name)]
            if given is not None:
                found += self._values(given, caller)
        return found


def read_modules(root: Path, paths: Iterable[Path], prefix: str, values: dict[str, Any] | None = None) -> list[Module]:
    """Return the modules below a root; `prefix` is left out of their names. `values` replaces what they define."""
    names = [".".join(path.relative_to(root).with_suffix("").parts) for path in paths]
    return [Module(name, name.removeprefix(prefix), path, values) for name, path in zip(names, paths, strict=True)]


def _text_of(call: ast.Call, name: str) -> ast.expr | None:
    """Return the argument that is a statement; None if the call runs none, or it was found elsewhere."""
    place = 1 if name in CHUNKS else 0
    known = name in CHUNKS | NAMED if isinstance(call.func, ast.Name) else name in RUNS
    if not known or len(call.args) <= place or isinstance(call.args[place], ast.Starred):
        return None
    return call.args[place]


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _name(place: _Place) -> str:
    return f"{place.module.short}.{place.function.name}" if place.function else place.module.short


def _variants(expression: ast.expr) -> list[ast.expr]:
    """Return an expression with each of its conditions decided in both ways."""

    class Decide(ast.NodeTransformer):
        def __init__(self, choices: Iterator[bool]) -> None:
            self.choices = choices

        def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
            return self.visit(node.body if next(self.choices) else node.orelse)  # type: ignore[no-any-return]

    count = sum(isinstance(node, ast.IfExp) for node in ast.walk(expression))
    if not count:
        return [expression]
    text = ast.unparse(expression)
    decided = itertools.product((True, False), repeat=count)
    return [Decide(iter(choices)).visit(ast.parse(text, mode="eval").body) for choices in decided]


def _free_names(expression: ast.expr) -> set[str]:
    nodes = list(ast.walk(expression))
    bound = {
        name.id
        for node in nodes
        if isinstance(node, _COMPREHENSIONS)
        for one in node.generators
        for name in ast.walk(one.target)
        if isinstance(name, ast.Name)
    }
    return {node.id for node in nodes if isinstance(node, ast.Name)} - bound


def _locals(function: _Function | None) -> set[str]:
    if function is None:
        return set()
    nodes = list(ast.walk(function))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _defaults(arguments: ast.arguments, name: str) -> list[ast.expr]:
    placed = [*arguments.posonlyargs, *arguments.args]
    late = zip(reversed(placed), reversed(arguments.defaults), strict=False)
    pairs = [*late, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return [default for one, default in pairs if one.arg == name and default is not None]


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _holds(target: ast.expr, name: str) -> bool:
    return any(_is_name(node, name) for node in ast.walk(target))


def _pick(target: ast.expr, value: Any, name: str) -> Any:
    """Return the part of a value that a target assigns to a name."""
    if not isinstance(target, ast.Tuple):
        return value
    starred = next((n for n, one in enumerate(target.elts) if isinstance(one, ast.Starred)), None)
    parts = list(value)
    if starred is not None:
        end = len(parts) - (len(target.elts) - starred - 1)
        parts[starred:end] = [parts[starred:end]]
    return next(
        _pick(one.value if isinstance(one, ast.Starred) else one, part, name)
        for one, part in zip(target.elts, parts, strict=True)
        if _holds(one, name)
    )


def _combinations(each: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    if math.prod(map(len, each)) > _MOST:
        raise Unreadable
    return itertools.product(*each)


def _constant(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant)
    return str(node.value)
