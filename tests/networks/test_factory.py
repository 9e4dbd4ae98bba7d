"""The networks of a process."""

import subprocess
import sys

PROGRAM = """
import os, resource
from gatepost.admin.vault import Vault, channel_context
from gatepost.model.ids import ZERO
from gatepost.network_factory import NetworkFactory
from gatepost.settings import load
from gatepost.store.channels import ChannelConfig
from gatepost.webhooks.guard import Guard

vault = Vault(bytes(32))
secrets = vault.seal(b'{"token": "t", "app_secret": "s", "verify_token": "v"}', channel_context(ZERO))
config = ChannelConfig(ZERO, ZERO, "official", "1", "1", {"phone_number_id": "1"}, secrets, {}, "connected")
networks = NetworkFactory(load(environ={}), vault, "", Guard())
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
print(type(networks.open(config)).__name__)
"""


def test_a_channel_can_be_opened_when_too_many_files_are_open() -> None:
    """The library keeps the error of its first client: nothing would be sent until the process ends."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == ("CloudNetwork\n", 0), ran.stderr
