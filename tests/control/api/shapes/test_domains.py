"""What is said of an entry's own domain, to whom."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.certs.authority import Authority
from tests.control.actions.conftest import alice, bob, ctx, desk  # noqa: F401 - fixtures
from tests.control.api.desk import START, Desk

CA = Authority(datetime.fromtimestamp(START, UTC))
NAME = "lab.example.org"


async def test_the_record_that_proves_a_domain_is_its_owners_secret(desk: Desk) -> None:  # noqa: F811 - the fixture
    """Others who may pass see that it is not proved, and no token; a domain that is not pointed here says where to."""
    owner, other = await desk.person("carol"), await desk.person("dave")
    leaf = CA.leaf(NAME)
    job = await desk.running_job(owner)
    pair = {"certificate": leaf.pem + CA.intermediate.pem + CA.root.pem, "private_key": leaf.key_pem()}
    web = {"name": "web", "protocol": "https", "level": "login", "target_port": 80, "domain": NAME}
    entry = (await owner.post(f"/jobs/{job['id']}/entries", web | pair)).body
    assert entry["domain_state"]["txt_value"] in entry["message"]
    seen = (await other.get(f"/entries/{entry['id']}")).body
    assert seen["domain_state"]["txt_value"] is None
    assert entry["domain_state"]["txt_value"] not in str(seen)
    assert seen["message"] == f"The domain {NAME} is not proved to be its owner's"
