import { screen, within } from "@testing-library/react";
import { me } from "../../test/fixtures/me";
import { aMetrics, anEvent, configs, history } from "../../test/fixtures/overview";
import { workers } from "../../test/fixtures/workers";
import { draw } from "../../test/render";
import { answer, hang, refuse } from "../../test/server";
import "./Chart"; // fetched lazily by the page; here it must be there at once
import OverviewPage from "./index";

const panel = (name: string) => screen.findByRole("region", { name });

describe("the overview", () => {
  beforeEach(() => {
    answer("/api/v1/configs", configs);
    answer("/api/v1/workers", workers);
  });

  it("waits with dashes and a loading face until the first numbers have come", () => {
    hang("/api/v1/configs");
    hang("/api/v1/workers");
    draw(<OverviewPage />);
    expect(screen.getAllByRole("status", { name: "Loading" }).length).toBeGreaterThan(0);
    expect(screen.getAllByText("–").length).toBe(6);
  });

  it("of a server that nobody asks tells how to ask it", async () => {
    const { hear } = draw(<OverviewPage />);
    hear({ ...aMetrics, overview: { ...aMetrics.overview, rate: 0 } });
    expect(await screen.findByText("No requests in the last five minutes")).toBeInTheDocument();
  });

  it("says which part of it failed, and shows the others", async () => {
    refuse("/api/v1/configs", 503, { title: "The orchestrator does not answer" });
    draw(<OverviewPage />);
    expect(await screen.findByText("The orchestrator does not answer")).toBeInTheDocument();
    expect(within(await panel("Workers")).getByText("w1")).toBeInTheDocument();
  });

  it("shows rate, percentiles and errors as they are told", async () => {
    const { hear } = draw(<OverviewPage />);
    hear(history);
    for (const text of ["123", "1.8 ms", "4.2 ms", "9.9 ms", "0.5"])
      expect((await screen.findAllByText(text)).length).toBeGreaterThan(0);
    expect(
      await screen.findByRole("img", { name: "Latency in milliseconds: p50 1.8, p95 4.2, p99 9.9" }),
    ).toBeInTheDocument();
    hear({ ...aMetrics, at_ms: aMetrics.at_ms + 4_000, overview: { ...aMetrics.overview, rate: 456 } });
    expect(await screen.findByText("456")).toBeInTheDocument();
  });

  it("shows configs and workers with their states, and the way to more", async () => {
    const { hear } = draw(<OverviewPage />);
    hear(history);
    const shown = await panel("Model configs");
    expect(await within(shown).findByText("last good")).toBeInTheDocument();
    expect(within(shown).getByRole("link", { name: "ranker" })).toHaveAttribute("href", "/configs/ranker");
    expect(within(shown).getByText("0.40 %")).toBeInTheDocument();
    expect(within(await panel("Workers")).getByText("dead")).toBeInTheDocument();
  });

  it("tells what happens while it is open", async () => {
    const { hear } = draw(<OverviewPage />);
    hear(anEvent);
    const events = await panel("Recent events");
    expect(within(events).getByText("config refused")).toBeInTheDocument();
    expect(within(events).getByRole("link", { name: "ranker" })).toHaveAttribute("href", "/configs/ranker");
  });

  it("leaves out workers where there is no fleet", async () => {
    answer("/api/v1/me", me({ parts: { ...me().parts, fleet: false } }));
    draw(<OverviewPage />);
    await panel("Model configs");
    expect(screen.queryByRole("region", { name: "Workers" })).not.toBeInTheDocument();
  });
});
