"""The lift: it helps in a simulation, and no amount of clicking can bury a good answer."""

import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from treeline.corpus.function import Address
from treeline.rerank.candidates import Candidate
from treeline.search.feedback import Votes, apply, lifts, places

MOST = 3
ADDRESS = Address("repo", "path.py", "name", "python", "")
counts = st.integers(0, 10**6)


def listed(length: int) -> list[Candidate]:
    return [Candidate(str(place), ADDRESS, 1 / (60 + place)) for place in range(length)]


@settings(deadline=None)
@given(votes=st.lists(st.tuples(st.integers(0, 29), counts, counts, counts), max_size=40), most=st.integers(0, 6))
def test_nothing_moves_further_than_the_bound(votes: list[tuple[int, int, int, int]], most: int) -> None:
    earned = lifts([Votes(str(place), ups, downs, opens) for place, ups, downs, opens in votes], most)
    moved = apply(listed(30), earned)
    assert sorted(moved, key=lambda one: int(one.id)) and {one.id for one in moved} == {
        str(place) for place in range(30)
    }
    voted = {str(place) for place, *_ in votes}
    for new, candidate in enumerate(moved):
        # Its own lift, and as many as others' lifts can carry past it.
        assert abs(new - int(candidate.id)) <= 2 * most
        if candidate.id not in voted:
            assert abs(new - int(candidate.id)) <= most


@settings(deadline=None)
@given(opens=st.lists(st.tuples(st.integers(1, 29), counts), max_size=40))
def test_clicking_alone_cannot_push_the_best_answer_below_the_second_place(opens: list[tuple[int, int]]) -> None:
    earned = lifts([Votes(str(place), 0, 0, number) for place, number in opens], MOST)
    assert [one.id for one in apply(listed(30), earned)].index("0") <= 1


def test_thumbs_down_by_the_thousand_lower_by_the_bound_and_no_more() -> None:
    earned = lifts([Votes("0", 0, 10**6, 0)], MOST)
    assert [one.id for one in apply(listed(30), earned)].index("0") <= MOST


def test_one_thumb_counts_and_the_hundredth_hardly_does() -> None:
    assert 0 < places(1, 0, 0, MOST) < places(2, 0, 0, MOST) < places(100, 0, 0, MOST) <= MOST
    assert places(101, 0, 0, MOST) - places(100, 0, 0, MOST) < 0.01


def test_similar_questions_count_less() -> None:
    same, near = lifts([Votes("a", 3, 0, 0)], MOST)["a"], lifts([Votes("a", 3, 0, 0, 0.75)], MOST)["a"]
    assert 0 < near.places < same.places


def test_without_votes_the_list_is_as_it_was() -> None:
    assert apply(listed(10), {}) == listed(10)


def test_votes_that_were_taken_back_leave_no_word_behind() -> None:
    assert apply(listed(10), lifts([Votes("3", 0, 0, 0), Votes("3", 0, 0, 0, 0.8)], MOST)) == listed(10)


def ndcg(order: list[str], relevant: dict[str, int]) -> float:
    gain = [2 ** relevant.get(one, 0) - 1 for one in order[:10]]
    ideal = sorted((2**value - 1 for value in relevant.values()), reverse=True)[:10]

    def discounted(gains: list[int]) -> float:
        return sum(value / math.log2(place + 2) for place, value in enumerate(gains))

    return discounted(gain) / discounted(ideal)


def test_simulated_people_make_the_lists_better() -> None:
    """200 questions; people look from the top, open what looks good, and vote rightly four times in five."""
    chance = random.Random(0)
    before = after = 0.0
    worse = 0
    for _ in range(200):
        candidates = listed(30)
        relevant = {str(place): chance.choice((1, 2, 3)) for place in chance.sample(range(12), 3)}
        votes: dict[str, Votes] = {}
        for _person in range(5):
            for place, candidate in enumerate(candidates[:10]):
                if chance.random() > 0.9**place:  # fewer look further down
                    break
                good = candidate.id in relevant
                old = votes.get(candidate.id, Votes(candidate.id, 0, 0, 0))
                opened = chance.random() < (0.6 if good else 0.25)
                voted = opened and chance.random() < 0.5
                right = chance.random() < 0.8
                votes[candidate.id] = Votes(
                    candidate.id,
                    old.ups + (voted and right == good),
                    old.downs + (voted and right != good),
                    old.opens + opened,
                )
        order = [one.id for one in apply(candidates, lifts(votes.values(), MOST))]
        was, now = ndcg([one.id for one in candidates], relevant), ndcg(order, relevant)
        before, after, worse = before + was, after + now, worse + (now < was - 0.1)
    assert after / 200 > before / 200 + 0.03
    assert worse <= 10
