"""Draw figures of a service for a paper: budget, queries in time and slack, each one column wide."""

from pathlib import Path

import duetime

service = duetime.Scenario.for_service("storage", budget="8 ms", rate="4000 /s").set("duration", "60 ms")
result = duetime.run(service, transports=["tcp", "dctcp", "d3"], seeds=4)
folder = Path("figures")
folder.mkdir(exist_ok=True)
for draw in (duetime.figures.budget, duetime.figures.in_time):
    draw(result, style="serif").savefig(folder / f"{draw.__name__}.pdf")
slack = duetime.figures.slack(result, flows="response", style="serif", width=5)
slack.savefig(folder / "slack.pdf")
print(*sorted(path.name for path in folder.iterdir()), sep="\n")
