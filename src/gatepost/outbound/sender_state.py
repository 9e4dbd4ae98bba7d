"""The state of a channel's sender, which its parts share: the queue, the limits, the back-off, the connection."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gatepost.channel_task import ChannelContext
from gatepost.networks.base import Network, Receipt
from gatepost.outbound.backoff import Backoff
from gatepost.outbound.number_limits import NumberLimits
from gatepost.outbound.queue import SendQueue
from gatepost.outbound.send_decision import SendRules
from gatepost.outbound.send_recorder import SendRecorder
from gatepost.outbound.senders_now import SendersNow
from gatepost.outbound.throttle import Throttle
from gatepost.store.messages.queue import NewMessages, QueueRead
from gatepost.tracing import Tracer

TICK = 0.5  # seconds between looks at waiting messages: lost answers, opened windows, expired messages

ReportConnection = Callable[[str, str | None, bool], Awaitable[None]]  # state, reason, whether the token was rejected
Attach = Callable[[Network, str, str], Awaitable[dict[str, str] | Receipt]]
ReadNewMessages = Callable[[QueueRead], Awaitable[NewMessages | None]]
ForgetMedia = Callable[[Mapping[str, str]], Awaitable[bool]]


@dataclass(slots=True)
class SenderState:
    """One per channel that is owned."""

    context: ChannelContext
    recorder: SendRecorder
    rules: SendRules
    limits: NumberLimits
    network: Network | None  # None: not connected
    report_connection: ReportConnection
    attach: Attach
    forget_media: ForgetMedia
    read_new_messages: ReadNewMessages  # shared with other senders, so that they read together
    senders: SendersNow  # to which this one belongs while it runs
    tracer: Tracer | None = None
    backoff: Backoff = field(default_factory=Backoff)
    queue: SendQueue = field(default_factory=SendQueue)
    opened: deque[datetime] = field(default_factory=deque)  # when conversations were opened, within the last day
    opening: int = 0  # messages in flight that open a conversation
    starts: Throttle = field(init=False)
    calls: Throttle = field(init=False)

    def __post_init__(self) -> None:
        self.starts = Throttle(self.context.clock, self.limits.throughput)
        self.calls = Throttle(self.context.clock, self.limits.throughput)
