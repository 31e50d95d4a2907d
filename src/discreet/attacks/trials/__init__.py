"""The red team's field: invented populations, protected in several ways, attacked through the public interface.

The truth is known here because the people are invented here; a server is asked for nothing but tables.
"""
