"""Which host a URL names, and which of its addresses may be asked.

A public site is asked at public addresses only: a URL or a name server that points inwards (cloud metadata, a neighbour on the
private network, this machine) is refused. A site whose own URL is on the loopback interface is asked there, and nowhere else.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

VISIBLE_ASCII = re.compile(r"[!-~]+", re.ASCII)
HOST_NAME = re.compile(r"[a-z0-9_.-]{1,253}", re.ASCII)
DEFAULT_PORTS = {"http": 80, "https": 443}
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Unreachable(Exception):
    """No address may be asked: ``no-address`` or ``private-address``."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Scheme, host and port (RFC 6454). ``host`` is lower-case, without an IPv6 address's brackets."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin | None:
        """The origin of an http(s) URL without user information; None for anything else.

        A name with other letters is written in its ASCII form (punycode), as certificates and DNS have it.
        """
        # urlsplit drops tabs and newlines, so what it must not see is refused before.
        if not VISIBLE_ASCII.fullmatch(url):
            return None
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return None
        if parts.scheme not in DEFAULT_PORTS or "@" in parts.netloc or port == 0 or not _is_host(host):
            return None
        return cls(scheme=parts.scheme, host=host, port=port or DEFAULT_PORTS[parts.scheme])

    @property
    def authority(self) -> str:
        """What the Host header says: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def _is_host(host: str) -> bool:
    if HOST_NAME.fullmatch(host):
        return True
    try:
        return ipaddress.IPv6Address(host).scope_id is None
    except ValueError:
        return False


def is_loopback_host(host: str) -> bool:
    """``localhost`` or a literal loopback address, as written; nothing is resolved."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_public(address: Address) -> bool:
    """Whether an address lies on the public internet, looking through the forms that carry an IPv4 address in an IPv6 one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


def checked_addresses(origin: Origin) -> tuple[str, ...]:
    """The addresses of an origin's host, in the system's order. ``Unreachable`` when one of them must not be asked.

    One bad address spoils the rest: a name that answers with public and private ones is being used against us.
    """
    try:
        found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable("no-address")
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses:
        raise Unreachable("no-address")
    local = is_loopback_host(origin.host)
    for text in addresses:
        address = ipaddress.ip_address(text)
        if not (address.is_loopback if local else is_public(address)):
            raise Unreachable("private-address")
    return addresses
