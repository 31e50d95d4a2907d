"""An invented land with many areas, and what a form shows."""

from itertools import pairwise

from discreet.model.dataset import Dataset
from discreet.model.variable import Category, Hierarchy, Variable

REGIONS = tuple(Category(f"R{r}", f"Region {r}") for r in range(3))
AREAS = tuple(Category(f"A{n:04}", f"Place {n}", f"R{n % 3}") for n in range(3000))
AGES = tuple(Category(f"{5 * n}-{5 * n + 4}", f"{5 * n} to {5 * n + 4}") for n in range(20))
LAND = Dataset(
    "land",
    "Land",
    (Variable("region", "Region", REGIONS), Variable("area", "Area", AREAS), Variable("age", "Age", AGES)),
    "id",
    hierarchies=(Hierarchy("places", "Places", ("region", "area"), geography=True),),
)


def chosen(page):
    """What each select shows, in order."""
    position = [i for i, e in enumerate(page.elements) if e["tag"] == "select"] + [len(page.elements)]
    return [
        next((e["value"] for e in page.elements[a:b] if e["tag"] == "option" and "selected" in e), "")
        for a, b in pairwise(position)
    ]
