"""Values only: dataset, variable, hierarchy, request, shape, release and noise distribution."""
