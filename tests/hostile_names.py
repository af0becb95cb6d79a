"""Names of columns that must be shown as text everywhere, and nothing else."""

SCRIPT = "<script>window.broken=1</script>\"'&$a_1$ %{x} | <b>b</b>"
RIGHT_TO_LEFT = "שלום עולם " + "very long " * 12 + "温度"
HOSTILE = (SCRIPT, RIGHT_TO_LEFT)
