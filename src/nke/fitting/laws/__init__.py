"""Kinds of laws, one file each: how a candidate starts, how it is fitted, when it is taken."""
