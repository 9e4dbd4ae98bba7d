"""One measurement: a driver process, and the CPU time of server and database meanwhile."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from bench.gateway import Cpu
from bench.processes import BenchFailed, Child, running

BODY = '{"phone":"PHONE","body":"Your order 1234 is on its way and comes tomorrow."}'


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a measurement, in seconds; `cpu` is the driver's, the others those of server and database."""

    count: int
    seconds: float
    cpu: float
    server: float = 0.0
    postgres: float = 0.0
    p50: float = 0.0
    p99: float = 0.0

    @property
    def rate(self) -> float:
        return self.count / self.seconds if self.seconds else 0.0

    @property
    def cost(self) -> float:
        """CPU time of server and database per item, in microseconds."""
        return self.micros(self.server + self.postgres)

    def micros(self, seconds: float) -> float:
        """Convert total seconds to microseconds per item."""
        return seconds / self.count * 1e6 if self.count else 0.0


def merge(samples: Sequence[Sample]) -> Sample:
    """Merge several rounds into one; quantiles are the median of the rounds."""
    middle = len(samples) // 2
    return Sample(
        count=sum(s.count for s in samples),
        seconds=sum(s.seconds for s in samples),
        cpu=sum(s.cpu for s in samples),
        server=sum(s.server for s in samples),
        postgres=sum(s.postgres for s in samples),
        p50=sorted(s.p50 for s in samples)[middle],
        p99=sorted(s.p99 for s in samples)[middle],
    )


async def sample(driver: Child, cpu: Callable[[], Cpu], seconds: float) -> Sample:
    """Measure a driver from its begin to its end."""
    await driver.receive()
    before = cpu()
    found = await driver.receive(seconds + 60)
    used = cpu() - before
    if found.get("failures"):
        raise BenchFailed(f"{found['failures']} requests failed, the first with:\n{found['first_failure']}")
    if not found["count"]:
        raise BenchFailed(f"{driver.name} got nothing done.")
    return Sample(
        count=found["count"],
        seconds=found["seconds"],
        cpu=found["cpu"],
        server=used.gateway,
        postgres=used.postgres,
        p50=found.get("p50", 0.0),
        p99=found.get("p99", 0.0),
    )


async def load(port: int, cpu: Callable[[], Cpu], *, seconds: float, **options: object) -> Sample:
    """Measure a server under load. The options are those of `bench.load`."""
    arguments = {"port": port, "seconds": seconds, "body": BODY, **options}
    async with running("bench.load", *_arguments(arguments)) as driver:
        return await sample(driver, cpu, seconds)


async def loop(kind: str, cpu: Callable[[], Cpu], seconds: float, **options: object) -> Sample:
    """Measure a baseline loop. The options are those of `bench.baseline_parts`."""
    async with running("bench.baseline_parts", *_arguments({"kind": kind, "seconds": seconds, **options})) as driver:
        return await sample(driver, cpu, seconds)


def _arguments(options: Mapping[str, object]) -> list[str]:
    return [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
