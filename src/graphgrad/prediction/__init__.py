"""State estimation, simulation, forecasts and their evaluation, from a `Fit`."""
