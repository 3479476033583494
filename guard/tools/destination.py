"""Destination: to which addresses a name may lead. Asked anew for every request and every redirect, and the answer is what is connected to.

A name that leads to an address inside the house is refused as a whole: whoever owns the name could otherwise choose. May not send anything.
Comes before sending.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_SPECIAL = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10")))
"""Networks for special purposes that some versions of Python take for public."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class ForbiddenError(Exception):
    """A destination that no request may go to; the text names no address."""


def addresses(host: str, port: int, networks: Sequence[str], *, literal: bool) -> list[str]:
    """The addresses of `host`, in the order to try them. Raises ForbiddenError where one of them is not permitted.

    `networks` may be reached although they are not public. `literal` says that the policy itself writes this host: an address or
    `localhost` that stands there is meant. Raises OSError for a name that cannot be resolved.
    """
    found = [
        ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    ]
    meant = [ipaddress.ip_network(network) for network in networks]
    for address in found:
        real = _real(address)
        written = literal and (_as_address(host) == address or (host == "localhost" and real.is_loopback))
        if not written and not public(real) and not any(real in network for network in meant):
            raise ForbiddenError("the name leads to an address that is not public")
    return list(dict.fromkeys(str(address) for address in found))


def _as_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def public(address: Address) -> bool:
    """Whether everybody reaches the same machine there."""
    if (
        address.is_multicast
        or address.is_reserved
        or any(address in network for network in _SPECIAL if network.version == address.version)
    ):
        return False
    return address.is_global


def _real(address: Address) -> Address:
    """The address that is reached in the end, where one is wrapped in another."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
