"""TLS is always verified: against the trusted roots, and for the site's own name."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from publisher.verify.probes import HttpProbes
from tests.support.raw_server import RawServer, answering, raw_server, silent

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
NEEDS_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="the certificate is made with openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def server_side(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def look(server: RawServer, host: str) -> tuple[int, str, bytes]:
    url = f"https://{host}:{server.port}/"
    seen = HttpProbes(site_url=url).look([url], seconds=10, bust="")[url]
    return seen.status, seen.problem, seen.body


@NEEDS_OPENSSL
def test_an_untrusted_certificate_is_a_problem(certificate: tuple[Path, Path]) -> None:
    with raw_server(answering(PAGE), server_side(certificate)) as server:
        assert look(server, "localhost") == (0, "tls", b"")
    assert server.requests == []


@NEEDS_OPENSSL
def test_a_trusted_certificate_counts_for_its_own_name_only(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with raw_server(answering(PAGE), server_side(certificate)) as server:
        assert look(server, "localhost") == (200, "", b"hi")
        assert look(server, "127.0.0.1") == (0, "tls", b"")
    assert len(server.requests) == 1


def test_the_deadline_ends_a_handshake() -> None:
    with raw_server(silent) as server:
        url = f"https://localhost:{server.port}/"
        assert HttpProbes(site_url=url).look([url], seconds=0.3, bust="")[url].problem == "timeout"


def test_an_answer_in_plain_text_is_a_problem() -> None:
    with raw_server(lambda server, sock: sock.sendall(PAGE)) as server:
        status, problem, _ = look(server, "localhost")
    assert status == 0
    assert problem in ("tls", "dropped")
