from discreet.attacks.trials.study import grid_up_to


def test_the_grid_starts_at_one_ends_at_the_last_and_ascends():
    for most in (1, 2, 3, 5, 34, 128):
        grid = grid_up_to(most)
        assert grid[0] == 1
        assert grid[-1] == most
        assert grid == sorted(set(grid))
