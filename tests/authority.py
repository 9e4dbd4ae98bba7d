"""A certificate authority that signs nothing, instead of the hundreds that a system trusts.

Every HTTP client loads all trusted authorities when it is created, which takes longer than most tests. No test
connects to a server with a certificate of one of them.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID


def trust_only_one(folder: Path) -> dict[str, str]:
    """Write the authority into a folder; return environment variables that make it the only trusted one."""
    file = folder / "authority.pem"
    file.write_bytes(_authority().public_bytes(Encoding.PEM))
    return {"SSL_CERT_FILE": str(file), "SSL_CERT_DIR": str(folder)}


def _authority() -> x509.Certificate:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Nobody")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(key, SHA256())
