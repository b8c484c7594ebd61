"""Models that a study trains: recipes, their checks, data and training."""

from __future__ import annotations

from rankwell.studies.recipes.recipe import RECIPES, Recipe, recipe_of

__all__ = ["RECIPES", "Recipe", "recipe_of"]
