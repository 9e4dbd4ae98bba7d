"""No background loop but those of `gatepost.background`, read from the source itself.

A task that somebody starts by hand, and a loop without an end of its own, have a line here that says why they end. A
new one without a line fails: what has to run for ever goes through `Loop`, `Supervisor.start` or `run_loop`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src"
# The simulated network and the client are other programs; a command ends with its terminal.
ELSEWHERE = ("sandbox", "client", "cli")

TASKS = {  # started by hand, and why that is enough
    "background.Loop.__init__": "the mechanism itself",
    "background.attempt_within": "the last statement of a process",
    "background.finish_within": "some work for a caller who waits for it, cancelled when it takes too long",
    "grouped_lookup.GroupedLookup.find": "one look-up; each waiter gets its error",
    "access.timed_cache.TimedCache._begin": "one look-up; each waiter gets its error",
    "admin.row_pipe.pipe_rows": "one table; its caller gets its error",
    "admin.sign_in.FailureLog.put": "one entry; an error is logged",
    "api.events._ending_with": "one request",
    "api.stream_response.StreamResponse._send_parts": "one response",
    "cells.directory.CellDirectory._ask": "one look-up in one cell; with a limit of time",
    "cells.gateway.CellGateway._first_try": "one try to open each cell; with a limit of time",
    "cli.serve._stoppable": "the server itself; the process ends with it",
    "channel_task.ChannelTask.start": "run_loop; a channel whose task ended is dropped, a deliverer replaced",
    "owned_channel.OwnedChannel.refresh": "one look after another, until nothing is stale; each of them survives",
    "inbound.media_fetch.MediaFetchTask._start_due": "one file",
    "inbound.link_keeper.LinkKeeper._listen": "one connection of a link",
    "inbound.link_keeper.LinkKeeper._read_updates": "one update",
    "networks.qr.child_driver.ChildTransport.__init__": "until the child ends",
    "networks.qr.driver.Driver._live": "one connection",
    "mcp.transport.McpServer._running": "one import; its caller gets its error",
    "outbound.attachments.AttachmentUploader._name": "one file; its caller gets its error",
    "outbound.channel_sender.ChannelSender._spawn": "one message",
    "outbound.channel_sender.ChannelSender._save": "one statement; after an error it is tried again",
    "outbound.send_recorder.SendRecorder.finish_late": "one result; tried for ten minutes, an error is logged",
    "channel_turns.ChannelTurns.run": "the end of one channel",
    "owned_channel.OwnedChannel.end_deliveries": "the end of a deliverer; an error is logged",
    "owner.Owner._in_begin": "the start of one channel; an error is logged",
    "owner.Owner._end_in_background": "the end of one channel",
    "processes.process_slot.ProcessSlot._run": "until the process ends",
    "processes.supervisor.ProcessSupervisor.run": "the caller gets their errors",
    "processes.supervisor.ProcessSupervisor._on_ask": "one answer",
    "processes.supervisor.ProcessSupervisor._answer": "one question; with a limit of time",
    "serving._serve_http": "the server; its end is the end of the process",
    "services.assistant_calls.McpRecorder._write": "while there are calls; a notification that fails is logged",
    "services.link_calls.LinkCalls._begin": "one call; an error is answered or logged",
    "store.batch.Batch._start_now": "while there is something to write; each batch survives",
    "store.channel_notifier.ChannelNotifier._send_soon": "what has gathered",
    "store.embedded.server.run_to_end": "one call in a thread; its caller gets its error",
    "webhooks.connection_pool.ConnectionPool._open_in": "one connection; its caller gets its error",
    "webhooks.endpoint_deliverer.EndpointDeliverer._start": "while something is ready",
    "webhooks.guard.Guard.check": "one question; its caller gets its error",
    "webhooks.success_recorder.SuccessRecorder.add": "while there are successes; what fails ends the deliverer",
    "webhooks.resolver.Resolver._start": "one lookup; its caller gets its error",
    # In the child process that holds links: its end is noticed, and it is started again.
    "networks.qr.phone.by_baileys.engine.Baileys.node": "one connection",
    "networks.qr.phone.by_baileys.engine.Baileys._take": "one question",
    "networks.qr.phone.by_baileys.engine.Baileys._close": "one farewell",
    "networks.qr.phone.server.Server._send_once": "one message",
    "networks.qr.phone.session.DeviceSession.__init__": "survives every event that cannot be emitted",
    "networks.qr.phone.session.DeviceSession.start": "one connection",
    "networks.qr.phone.wire.Requests.take": "one request",
    "networks.qr.phone.wire.serve": "the farewell of the process",
}
LOOPS = {  # loops without an end of their own, and what ends them
    "background.run_loop": "the mechanism itself",
    "background.retry_until_available": "success, or the caller's condition",
    "access.access_recheck.checked_parts": "the last piece of an answer",
    "processes.process_slot.ProcessSlot.keep": "the supervisor's end, or too many failed starts",
    "processes.supervisor.ProcessSupervisor._until_over": "a signal, or a process that cannot start",
    "services.account_feed.AccountStream.batches": "the request",
    "services.account_feed.AccountStream._catch_up": "nothing more was missed, or the request",
    "services.export._chunks": "the last page",
    "services.feed.follow": "the request",
    "services.feed.next_page": "the request",
    "services.link.current_code": "the request",
    "services.media._in_time": "the last piece of a file",
    "services.search_indexing.SearchIndexTask.work": "nothing more to write, or the lease",
    "inbound.media_fetch.MediaFetchTask.step": "no more files",
    "inbound.link_keeper.LinkKeeper._pause": "a timeout",
    "networks.qr.driver.Driver.connection": "a connection",
    "networks.qr.driver.Driver._watch": "the end of the connection",
    "networks.qr.link.Link.get_media": "the last piece",
    "database_lifecycle._begin_use": "a timeout",
    "database_lifecycle._running_or_locked": "a timeout",
    "outbound.cancel.cancel_selection": "the last piece, or a timeout",
    "outbound.throttle.Throttle._wait_for_slot": "its turn",
    "store.backup.snapshot._begin_with_tables": "the end of a commit that creates or renames tables",
    "store.backup.snapshot.begin_reading": "the end of the commit that drops partitions",
    "store.migrate._apply_when_free": "success, or another error than a lock",
    "store.embedded.supervise.supervise": "a Loop runs it",
    "store.embedded.supervise.bring_back": "success",
    "store.pool.delete_in_chunks": "nothing more to delete",
    "store.search.query._walk": "the last block, or as many as one search may read",
    "networks.qr.phone.by_baileys.node.Node._line": "the end of the child's child",
    "networks.qr.phone.by_baileys.node.Node.watch": "the end of the child's child",
    "networks.qr.phone.session.DeviceSession._emit_updates": "survives every event that cannot be emitted",
}
STARTS = ("create_task", "ensure_future")
_FLAGS = {"_stopping", "_alive", "going", "gone", "ended", "_gone_within"}


def functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    """Every function of a module with its dotted name; those inside of another count as part of it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}.{node.name}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}.{node.name}", node


def starts_task(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in STARTS for node in ast.walk(function))


def loops_endlessly(function: ast.AST) -> bool:
    """Whether it has a loop whose condition is no fact about its own work, and that waits in it."""
    return any(
        isinstance(node, ast.While)
        and _without_end(node.test)
        and any(isinstance(n, ast.Await) for n in ast.walk(node))
        for node in ast.walk(function)
    )


def _without_end(test: ast.expr) -> bool:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    named = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    named |= {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return bool(named & _FLAGS)


def functions_of_modules_with(*words: str) -> Iterator[tuple[str, ast.AST]]:
    """Every function of the modules in which one of these words occurs."""
    for path in sorted((ROOT / "gatepost").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "gatepost").with_suffix("").parts)
        text = path.read_text()
        if module.split(".")[0] not in ELSEWHERE and any(word in text for word in words):
            yield from functions(ast.parse(text), module)


def test_every_task_outside_of_the_mechanism_ends_by_itself() -> None:
    found = functions_of_modules_with(*STARTS)
    assert {name for name, function in found if starts_task(function)} - set(TASKS) == set()


def test_every_endless_loop_goes_through_the_one_mechanism() -> None:
    found = functions_of_modules_with("while ")
    assert {name for name, function in found if loops_endlessly(function)} - set(LOOPS) == set()


def test_both_are_found() -> None:
    def first(text: str) -> ast.AST:
        return dict(functions(ast.parse(text), "x"))["x.f"]

    assert starts_task(first("async def f():\n    asyncio.create_task(work())"))
    assert loops_endlessly(first("async def f():\n    while True:\n        await work()"))
    assert loops_endlessly(first("async def f(self):\n    while not self._stopping:\n        await work()"))
    assert not loops_endlessly(first("async def f():\n    while True:\n        pass"))
    assert not loops_endlessly(first("async def f():\n    while page:\n        page = await work()"))
