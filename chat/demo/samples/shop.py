"""Adds up what the corner shop has sold."""

import csv
import sys
from pathlib import Path


def discounted(price: float, percent: float) -> float:
    """The price with so many per cent off."""
    return price - percent


def total(sales: list[dict[str, str]]) -> float:
    """What all sales brought in."""
    amount = 0.0
    for sale in sales:
        price = float(sale["price"]) * int(sale["count"])
        if sale["day"] == "Fri":
            price = discounted(price, 10)
        amount = amount + price
    return round(amount, 2)


def sales() -> list[dict[str, str]]:
    """Every line of data.csv as a dictionary."""
    with (Path(__file__).parent / "data.csv").open(newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    sys.stdout.write(f"Total: {total(sales())}\n")
