"""Reads the files of a deployment: the Dockerfile, `.dockerignore` and the systemd unit."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


class DockerStage(dict[str, str]):
    """The instructions of the last stage of a Dockerfile, the last one of each kind; ENV is merged."""

    env: dict[str, str]

    def words(self, instruction: str) -> list[str]:
        """Return the words of an instruction in its JSON form, such as CMD."""
        words: list[str] = json.loads(self[instruction].rpartition("CMD ")[2])  # HEALTHCHECK --interval=… CMD […]
        return words


def docker_lines() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each on one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def last_stage() -> DockerStage:
    """Return the stage that becomes the image."""
    lines = docker_lines()
    start = max(index for index, (word, _) in enumerate(lines) if word == "FROM")
    stage = DockerStage(lines[start:])
    stage.env = dict(pair.split("=", 1) for word, text in lines[start:] if word == "ENV" for pair in text.split())
    return stage


def unit(path: Path) -> dict[str, list[str]]:
    """Return the values of a systemd unit by key; keys are unique across its sections, except repeated ones."""
    values: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            values.setdefault(key, []).append(value)
    return values
