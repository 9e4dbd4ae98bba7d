"""Opens the vault of a database: only with the key that its secrets were encrypted with.

the database has ─┬ a check value ──────► the key must decrypt it
                  ├ secrets, no check ──► the key must decrypt one of them ──────┬─► the check value is written
                  └ neither ────────────► any key, created now if there is none ─┘

With a wrong key nothing could be sent or signed, although every request would be accepted.
"""

from pathlib import Path

from gatepost.admin.vault import (
    KEY_FILE,
    RESTORED_KEY,
    Vault,
    VaultError,
    channel_context,
    endpoint_context,
    load_or_make_key,
    put_restored_key,
    read_key,
)
from gatepost.store.checks import KeyProof, StoredSecret, read_key_proof, save_key_check
from gatepost.store.pool import Database

CHECK_CONTEXT = b"key check"
_TEXT = b"gatepost"


def open_vault(proof: KeyProof, setting: str, data_folder: Path) -> Vault:
    """Return the vault, or raise VaultError if the key is not that of the database."""
    path = data_folder / KEY_FILE
    if not setting:
        _finish_restore(proof, data_folder)
    if proof.exists and not setting and not path.exists():
        raise VaultError(
            f"The file {path} is missing, and the database has secrets that were encrypted with it. Restore the file "
            "from a backup, or set security.secret_key to its content. If the key is lost for good, run: "
            "gatepost secret-key replace"
        )
    vault = Vault(load_or_make_key(setting, data_folder))
    if not _is_key_of(vault, proof):
        where = "The setting security.secret_key" if setting else f"The file {path}"
        raise VaultError(
            f"{where} is not the key that the database's secrets were encrypted with. Restore the right one "
            "(every node of one database needs the same key). If that key is lost for good, run: "
            "gatepost secret-key replace"
        )
    return vault


async def unlock(db: Database, setting: str, data_folder: Path) -> Vault:
    """Return the vault of a gateway that starts, and store the check value; raise VaultError if the key is wrong."""
    proof = await read_key_proof(db)
    vault = open_vault(proof, setting, data_folder)
    if proof.check is not None:
        return vault
    await save_key_check(db, make_check(vault))
    # Two nodes with two new keys may have started at once: the second one fails here.
    return open_vault(await read_key_proof(db), setting, data_folder)


async def replace_key(db: Database, setting: str, data_folder: Path) -> Vault:
    """Make the current key, created if there is none, that of the database. Older secrets stay unreadable."""
    vault = Vault(load_or_make_key(setting, data_folder))
    await save_key_check(db, make_check(vault), replace=True)
    return vault


def _is_key_of(vault: Vault, proof: KeyProof) -> bool:
    if proof.check is not None:
        return _opens(vault, proof.check, CHECK_CONTEXT)
    # One is enough: older secrets may have been encrypted with a key that was lost and replaced.
    return not proof.secrets or any(opens(vault, kept) for kept in proof.secrets)


def _finish_restore(proof: KeyProof, data_folder: Path) -> None:
    """Use the key of a restored database, if the restore ended between its commit and the change of the key."""
    restored = read_key("", data_folder, RESTORED_KEY)
    if restored is None or not proof.exists or not _is_key_of(Vault(restored), proof):
        return
    current = read_key("", data_folder)
    if current is None or not _is_key_of(Vault(current), proof):
        put_restored_key(data_folder)


def make_check(vault: Vault) -> bytes:
    """Return a check value of a key."""
    return vault.seal(_TEXT, CHECK_CONTEXT)


def opens_check(vault: Vault, check: bytes) -> bool:
    """Return whether a key decrypts the check value of a database."""
    return _opens(vault, check, CHECK_CONTEXT)


def opens(vault: Vault, kept: StoredSecret) -> bool:
    """Return whether a key decrypts a stored secret."""
    context = {"channel": channel_context, "endpoint": endpoint_context}[kept.kind]
    return _opens(vault, kept.sealed, context(kept.id))


def _opens(vault: Vault, sealed: bytes, context: bytes) -> bool:
    try:
        vault.open(sealed, context)
    except VaultError:
        return False
    return True
