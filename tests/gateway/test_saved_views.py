"""The views of the inbox that each person keeps."""

from typing import Any

from tests.gateway.checks import check_refused
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway

PATH = "/api/v1/session/views"
EMPTY: dict[str, Any] = {"view": "open", "channel": None, "label": None, "assignee": None, "q": None}


async def put(person: Person, *views: Any) -> Any:
    return await person.call("PUT", PATH, {"views": views})


async def test_everybody_keeps_their_own(gateway: Gateway) -> None:
    people = [await new_person(gateway, role) for role in ("owner", "agent", "reader")]
    for person in people:
        listed = (await person.call("GET", PATH)).json()
        assert (listed["data"], listed["paging"]) == ([], {"next": None})
        views = [{"name": f"{person.user.role} ü", "view": "mine"}, {"name": "VIP", "label": "VIP", "q": "bread"}]
        answer = await put(person, *views)
        assert answer.status == 200, answer.body
        assert answer.json()["data"] == [EMPTY | view for view in views]
    for person in people:
        listed = (await person.call("GET", PATH)).json()["data"]
        assert [view["name"] for view in listed] == [f"{person.user.role} ü", "VIP"]
    assert (await put(people[0])).json()["data"] == []
    assert len((await people[1].call("GET", PATH)).json()["data"]) == 2


async def test_limits(gateway: Gateway) -> None:
    person = await new_person(gateway, "agent")
    channel = gateway.channel
    longest = {"name": "n" * 64, "q": "q" * 200, "label": "l" * 64, "assignee": "a" * 256, "channel": channel}
    good = [[{"name": f"View {i}"} for i in range(50)], [longest], [{"name": "x"}, {"name": "y"}]]
    for views in good:
        assert (await put(person, *views)).status == 200, views
    kept = (await person.call("GET", PATH)).json()["data"]
    bad: list[tuple[Any, str]] = [
        ([{"name": f"View {i}"} for i in range(51)], "views"),
        ([{"name": ""}], "views[0].name"),
        ([{"name": "  "}], "views[0].name"),
        ([{"name": "n" * 65}], "views[0].name"),
        ([{"name": "VIP"}, {"name": " vip "}], "views[1].name"),
        ([{"name": "a\x00b"}], "views[0].name"),
        ([{"name": "x", "q": "q" * 201}], "views[0].q"),
        ([{"name": "x", "label": "l" * 65}], "views[0].label"),
        ([{"name": "x", "assignee": "a" * 257}], "views[0].assignee"),
        ([{"name": "x", "channel": "ch_1"}], "views[0].channel"),
        ([{"name": "x", "view": "all"}], "views[0].view"),
        ([{"name": "x", "color": "red"}], "views[0].color"),
        ([{"view": "open"}], "views[0].name"),
        ([7], "views[0]"),
    ]
    for views, field in bad:
        answer = await put(person, *views)
        check_refused(answer, 422, "invalid_field", field)
    assert (await person.call("GET", PATH)).json()["data"] == kept
