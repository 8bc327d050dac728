"""What is offered depends on the settings; where no authority is set, none is asked."""

from __future__ import annotations

import pytest

from control.actions.acme import Landing, landings
from control.config import read_settings
from control.domain.acme import Method

ON = {"STARLIGHT_ACME_DIRECTORY": "https://acme.test/dir", "STARLIGHT_ACME_TERMS_AGREED": "1"}


@pytest.mark.parametrize(
    ("more", "direct"),
    [
        ({}, {Method.DNS}),
        ({"STARLIGHT_ACME_HTTP_PORT": "80"}, {Method.HTTP, Method.DNS}),
        ({"STARLIGHT_HTTP_PORT": "80", "STARLIGHT_HTTPS_PORT": "443"}, {Method.HTTP, Method.TLS, Method.DNS}),
        ({"STARLIGHT_ACME_TLS_PORT": "4443"}, {Method.DNS}),
    ],
)
def test_a_way_is_direct_where_the_worlds_port_is_ours(more: dict[str, str], direct: set[Method]) -> None:
    """Bound for authorities alone, or an entry's that answers as well; else a forward is missing."""
    offered = landings(read_settings(ON | more))
    assert {one.method for one in offered if one.is_direct} == direct
    assert len(offered) == 3


def test_nothing_is_offered_without_an_authority() -> None:
    """Off unless an administrator says otherwise."""
    assert landings(read_settings({})) == ()
    assert Landing(Method.DNS, None, None).is_direct
