"""nginx as `deploy/nginx.conf` sets it up, with ports, names and a certificate of the test's own."""

from __future__ import annotations

import datetime
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.agentsite.wire import Wire
from tests.management.conftest import free_port
from tests.serving import ROOT, until

NAME = "localhost"
AROUND = """
daemon off;
pid {folder}/pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    include {folder}/site.conf;
}}
"""


@contextmanager
def nginx(folder: Path, upstream: int) -> Iterator[tuple[str, ssl.SSLContext]]:
    """nginx in front of a site on port `upstream`: its URL, and a context that trusts its certificate."""
    port, plain = free_port(), free_port()
    certify(folder)
    (folder / "site.conf").write_text(set_up(folder, upstream, port, plain))
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    log = folder / "log"
    with log.open("wb") as opened:
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
        process = subprocess.Popen(command, stdout=opened, stderr=opened)
    trust = ssl.create_default_context(cafile=folder / "fullchain.pem")
    try:
        until(lambda: answers(port, trust) or process.poll() is not None, log.read_text)
        yield f"https://{NAME}:{port}", trust
    finally:
        process.terminate()
        process.wait(30)


def answers(port: int, trust: ssl.SSLContext) -> bool:
    try:
        Wire(f"https://{NAME}:{port}", trust).socket.close()
    except OSError:
        return False
    return True


def set_up(folder: Path, upstream: int, port: int, plain: int) -> str:
    """The file of `deploy/` with this machine's places in it."""
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for theirs, ours in {
        "    server 127.0.0.1:8002;\n": "",
        "127.0.0.1:8001": f"127.0.0.1:{upstream}",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "/etc/letsencrypt/live/chat.example.org": str(folder),
        "chat.example.org": NAME,
    }.items():
        assert theirs in text, theirs
        text = text.replace(theirs, ours)
    return text


def certify(folder: Path) -> None:
    """Make a certificate for this machine that it signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "privkey.pem").write_bytes(private)
