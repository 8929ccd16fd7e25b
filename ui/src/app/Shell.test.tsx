import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { ApiError } from "../api/problem";
import { answered, api } from "../api/client";
import { setKey } from "../api/key";
import { me } from "../test/fixtures/me";
import { draw } from "../test/render";
import { answer, refuse } from "../test/server";
import { PAGES } from "./pages";
import { PartGate } from "./PartGate";
import { Shell } from "./Shell";

test("the navigation leads to every page, and says where one is", async () => {
  draw(<Shell />, { at: "/workers" });
  const navigation = (await screen.findAllByRole("navigation", { name: "Pages" }))[0] as HTMLElement;
  const links = within(navigation).getAllByRole("link");
  expect(links.map((link) => link.getAttribute("href"))).toEqual(PAGES.map(({ path }) => path));
  expect(within(navigation).getByRole("link", { name: "Workers" })).toHaveAttribute("aria-current", "page");
});

test("the first thing the keyboard reaches leads past the navigation", async () => {
  draw(<Shell />);
  await userEvent.tab();
  expect(screen.getByRole("link", { name: "Skip to the content" })).toHaveFocus();
});

test("a gateway that wants a key is given one, which is sent from then on", async () => {
  refuse("/api/v1/configs", 401, { title: "Unauthorized", detail: "no key" });
  draw(<Shell />);
  await api.GET("/api/v1/configs").catch((error: unknown) => expect(error).toBeInstanceOf(ApiError));
  const dialog = await screen.findByRole("dialog", { name: "This gateway asks for a key" });
  await userEvent.type(within(dialog).getByLabelText("API key"), "ifk_1");
  await userEvent.click(within(dialog).getByRole("button", { name: "Use this key" }));
  await waitFor(() => expect(dialog).not.toBeVisible());
  answer("/api/v1/configs", { configs: [] });
  expect(await api.GET("/api/v1/configs").then(answered)).toEqual({ configs: [] });
  setKey(null);
});

test("a page whose part does not run here says so instead of failing", async () => {
  answer("/api/v1/me", me({ parts: { ...me().parts, fleet: false } }));
  draw(<PartGate part="fleet">the workers</PartGate>);
  expect(await screen.findByText("No fleet runs behind this gateway")).toBeVisible();
  expect(screen.queryByText("the workers")).not.toBeInTheDocument();
});
