import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { aMetrics } from "../../test/fixtures/overview";
import { me } from "../../test/fixtures/me";
import { aDeadWorker, aWorker, workers } from "../../test/fixtures/workers";
import { draw } from "../../test/render";
import { answer, hang, refuse } from "../../test/server";
import WorkersPage from "./index";

const row = (name: RegExp) => screen.findByRole("row", { name });

describe("workers", () => {
  it("are waited for with a loading face", () => {
    hang("/api/v1/workers");
    draw(<WorkersPage />);
    expect(screen.getByRole("status", { name: "Loading" })).toBeInTheDocument();
  });

  it("that are none at all come with the command that adds one", async () => {
    answer("/api/v1/workers", { workers: [] });
    draw(<WorkersPage />);
    expect(await screen.findByText("No worker has joined yet")).toBeInTheDocument();
    expect(screen.getByText(/inferflow worker --manager/)).toBeInTheDocument();
  });

  it("that cannot be asked for say why, and can be asked for again", async () => {
    refuse("/api/v1/workers", 503, { title: "The manager does not answer", detail: "127.0.0.1:50060" });
    draw(<WorkersPage />);
    expect(await screen.findByText("The manager does not answer")).toBeInTheDocument();
    answer("/api/v1/workers", workers);
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(await row(/w1/)).toBeInTheDocument();
  });

  it("show state, load and numbers, and none of those of a dead one", async () => {
    answer("/api/v1/workers", workers);
    draw(<WorkersPage />);
    const live = await row(/w1 127/);
    for (const text of ["online", "3 of 4 in flight, 1 waiting", "38 %", "173 MiB", "8.9 ms", "62 %"])
      expect(within(live).getByText(text)).toBeInTheDocument();
    const dead = await row(/w2 127/);
    expect(within(dead).getByText("dead")).toBeInTheDocument();
    expect(within(dead).queryByText("173 MiB")).not.toBeInTheDocument();
    expect(screen.getByText("1 dead")).toBeInTheDocument();
  });

  it("die and come back as the live socket tells, without being asked for again", async () => {
    answer("/api/v1/workers", { workers: [aWorker] });
    const { hear } = draw(<WorkersPage />);
    expect(within(await row(/w1/)).getByText("online")).toBeInTheDocument();
    hear({ ...aMetrics, workers: [{ ...aWorker, state: "offline" }] });
    expect(within(await row(/w1/)).getByText("dead")).toBeInTheDocument();
    hear({ ...aMetrics, at_ms: aMetrics.at_ms + 1_000, workers: [aWorker] });
    await waitFor(async () => expect(within(await row(/w1/)).getByText("online")).toBeInTheDocument());
  });

  it("open with the keyboard to show devices and models", async () => {
    answer("/api/v1/workers", { workers: [aWorker] });
    draw(<WorkersPage />);
    (await row(/w1/)).focus();
    await userEvent.keyboard("{Enter}");
    expect(screen.getByText(/GPU 0: NVIDIA L4, 62 % busy, 5.6 GiB of 22.4 GiB/)).toBeInTheDocument();
    const models = screen.getByRole("table", { name: "Models on w1" });
    expect(within(models).getByRole("link", { name: "click_model 1" })).toHaveAttribute(
      "href",
      "/models/click_model",
    );
    expect(within(models).getByText("no memory left for it")).toBeInTheDocument();
  });

  it("that are dead say so when they are opened", async () => {
    answer("/api/v1/workers", { workers: [aDeadWorker] });
    draw(<WorkersPage />);
    await userEvent.click(await row(/w2/));
    expect(screen.getByText(/Silent for/)).toBeInTheDocument();
  });

  it("leave only after a confirmation, and a refusal is told", async () => {
    answer("/api/v1/workers", { workers: [aWorker] });
    refuse("/api/v1/workers/w1/drain", 403, { title: "This key lacks the permission 'admin'" }, "post");
    draw(<WorkersPage />);
    await userEvent.click(await screen.findByRole("button", { name: "Drain w1" }));
    const dialog = screen.getByRole("dialog", { name: "Drain w1?" });
    await userEvent.click(within(dialog).getByRole("button", { name: "Drain" }));
    expect(await within(dialog).findByText("This key lacks the permission 'admin'")).toBeInTheDocument();
    answer("/api/v1/workers/w1/drain", {}, "post");
    await userEvent.click(within(dialog).getByRole("button", { name: "Drain" }));
    expect(await screen.findByText("w1 is leaving")).toBeInTheDocument();
  });

  it("cannot be sent away by whoever may only look", async () => {
    answer("/api/v1/me", me({ auth: "on", permissions: ["view"] }));
    answer("/api/v1/workers", { workers: [aWorker] });
    draw(<WorkersPage />);
    await row(/w1/);
    expect(screen.queryByRole("button", { name: "Drain w1" })).not.toBeInTheDocument();
  });
});
