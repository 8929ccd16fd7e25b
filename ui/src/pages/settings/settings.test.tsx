import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { settings } from "../../test/fixtures/settings";
import { draw } from "../../test/render";
import { answer, hang, refuse } from "../../test/server";
import SettingsPage from "./index";

const names = () =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((row) => row.querySelector(".mono")?.textContent);

describe("settings", () => {
  it("are waited for with a loading face", () => {
    hang("/api/v1/settings");
    draw(<SettingsPage />);
    expect(screen.getByRole("status", { name: "Loading" })).toBeInTheDocument();
  });

  it("that are none at all name the command", async () => {
    answer("/api/v1/settings", { settings: [] });
    draw(<SettingsPage />);
    expect(await screen.findByText("This server reports no settings")).toBeInTheDocument();
  });

  it("that may not be seen say so", async () => {
    refuse("/api/v1/settings", 403, { title: "This key lacks the permission 'admin'" });
    draw(<SettingsPage />);
    expect(await screen.findByText("This key lacks the permission 'admin'")).toBeInTheDocument();
  });

  it("show value, source and variables, with secrets masked", async () => {
    answer("/api/v1/settings", settings);
    draw(<SettingsPage />);
    expect(await screen.findByText("fleet.api_key")).toBeInTheDocument();
    expect(screen.getByText("********")).toBeInTheDocument();
    expect(screen.getByText("environment")).toBeInTheDocument();
    expect(screen.getByText("INFERFLOW_FEATURE_BACKEND")).toBeInTheDocument();
  });

  it("are found by words of their name, meaning or variable", async () => {
    answer("/api/v1/settings", settings);
    draw(<SettingsPage />);
    const filter = await screen.findByRole("searchbox", { name: "Filter" });
    await userEvent.type(filter, "port grpc");
    expect(names()).toEqual(["serve.port"]);
    expect(screen.getByRole("status")).toHaveTextContent("1 of 3");
    await userEvent.clear(filter);
    await userEvent.type(filter, "nothing like it");
    expect(screen.getByText("No setting matches")).toBeInTheDocument();
  });

  it("can be narrowed to those that somebody has set", async () => {
    answer("/api/v1/settings", settings);
    const { address } = draw(<SettingsPage />);
    await userEvent.click(await screen.findByRole("switch", { name: "Only what is set" }));
    expect(names()).toEqual(["serve.port", "fleet.api_key"]);
    expect(address()).toBe("/?changed=yes");
  });
});
