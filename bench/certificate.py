"""A certificate for a receiver with TLS on 127.0.0.1, by an authority that only the processes of a benchmark trust."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Certificate(msgspec.Struct, frozen=True):
    """The file of a receiver (certificate and key), and the variables with which a client trusts it."""

    file: Path
    trusted: dict[str, str]


def make_certificate(folder: Path) -> Certificate:
    """Write the authority and the certificate of the receiver to a folder."""
    root, file = folder / "authority.pem", folder / "receiver.pem"
    signer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _named("Gatepost benchmark", "Gatepost benchmark", signer)
    authority = authority.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    receiver = _named("127.0.0.1", "Gatepost benchmark", key)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    root.write_bytes(authority.sign(signer, SHA256()).public_bytes(Encoding.PEM))
    file.write_bytes(
        receiver.add_extension(address, critical=False).sign(signer, SHA256()).public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return Certificate(file, {"SSL_CERT_FILE": str(root), "SSL_CERT_DIR": str(folder)})


def _named(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(_name(issuer), _name(subject), key.public_key(), x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=2))


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
