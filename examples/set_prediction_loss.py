"""A set-prediction loss that trains: predictions are matched with targets, a whole batch in one call, as DETR does.

    python examples/set_prediction_loss.py                     # 300 steps, gmatch and then SciPy in its place
    python examples/set_prediction_loss.py --steps 50 --batch 4 --queries 30

A model sees images with up to ten bright spots. It predicts a set of points, and whether each is a spot. Each step
computes the costs of all pairs of predictions and spots, matches them, and pulls the matched predictions towards their
spots. Both matchers find the same pairs, so the losses are equal, step by step.

Needs torch (`pip install torch`). Without torch it says so, and ends with 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from scipy.optimize import linear_sum_assignment

import gmatch

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    print("this example needs torch, which is not installed: pip install torch")
    sys.exit(0)

PIXELS, MOST_SPOTS = 16, 10
Tensor = torch.Tensor
Pairs = list[tuple[Tensor, Tensor]]


def by_gmatch(costs: list[Tensor]) -> Pairs:
    """The pairs of all images, in one call; tensors in, tensors out."""
    return [tuple(assignment) for assignment in gmatch.lap(costs)]


def by_scipy(costs: list[Tensor]) -> Pairs:
    found = (linear_sum_assignment(cost.cpu()) for cost in costs)
    return [(torch.as_tensor(rows), torch.as_tensor(columns)) for rows, columns in found]


def images_of(count: int, generator: torch.Generator) -> tuple[Tensor, list[Tensor]]:
    """Images, and where their spots are; some have none."""
    spots = [
        torch.rand((int(torch.randint(MOST_SPOTS + 1, (), generator=generator)), 2), generator=generator)
        for _ in range(count)
    ]
    grid = (torch.arange(PIXELS) + 0.5) / PIXELS
    images = torch.zeros((count, PIXELS, PIXELS))
    for image, points in zip(images, spots, strict=True):
        for x, y in points:
            image += torch.exp(-((grid[:, None] - x) ** 2 + (grid - y) ** 2) * 150)
    return images, spots


class Model(nn.Module):
    def __init__(self, queries: int) -> None:
        super().__init__()
        self.queries = queries
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(PIXELS**2, 128), nn.ReLU(), nn.Linear(128, queries * 3))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """A point for each query of each image, and a logit that says how surely it is a spot."""
        found = self.layers(images).reshape(len(images), self.queries, 3)
        return found[:, :, :2].sigmoid(), found[:, :, 2]


def loss_of(points: Tensor, logits: Tensor, spots: list[Tensor], match: Callable[[list[Tensor]], Pairs]) -> Tensor:
    """The loss of the best way to pair predictions with spots."""
    with torch.no_grad():  # the choice of pairs has no gradient; their costs have one
        costs = torch.cdist(points, torch.cat(spots)[None]) - logits.sigmoid()[:, :, None]
        pairs = match([block[k] for k, block in enumerate(costs.split([len(some) for some in spots], -1))])
    is_spot = torch.zeros_like(logits)
    distance = points.sum() * 0
    for k, (chosen, numbers) in enumerate(pairs):
        is_spot[k, chosen] = 1
        distance = distance + (points[k, chosen] - spots[k][numbers]).norm(dim=1).sum()
    return distance / max(1, sum(map(len, spots))) + functional.binary_cross_entropy_with_logits(logits, is_spot)


def train(match: Callable[[list[Tensor]], Pairs], options: argparse.Namespace) -> tuple[list[float], float]:
    """The losses of all steps, and the median of the seconds that matching took."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model, spent = Model(options.queries), []
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def timed(costs: list[Tensor]) -> Any:
        started = perf_counter()
        pairs = match(costs)
        spent.append(perf_counter() - started)
        return pairs

    losses = []
    for _ in range(options.steps):
        images, spots = images_of(options.batch, generator)
        optimizer.zero_grad()
        loss = loss_of(*model(images), spots, timed)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, median(spent)


def main() -> int:
    parser = argparse.ArgumentParser(description="Trains a set predictor with gmatch, then with SciPy.")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16, help="images a step")
    parser.add_argument("--queries", type=int, default=100, help="points that are predicted for each image")
    options = parser.parse_args()
    results = {name: train(match, options) for name, match in (("gmatch", by_gmatch), ("SciPy", by_scipy))}
    for name, (losses, spent) in results.items():
        print(f"{name:6}  loss {losses[0]:.4f} -> {losses[-1]:.4f}, matching {1e3 * spent:.3f} ms a step")
    (ours, _), (theirs, _) = results.values()
    print("equal losses in all steps" if ours == theirs else "the losses differ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
