"""States, forecasts and their skill, from the record of a fit."""
