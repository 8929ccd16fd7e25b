import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { aModel, aVersion } from "../../../test/fixtures/models";
import { draw } from "../../../test/render";
import { answer, hang, refuse, server } from "../../../test/server";
import ModelPage from "./index";

const PATH = "/api/v1/models/click_model";
const show = () => draw(<ModelPage />, { path: "/models/:name", at: "/models/click_model" });

/** What the page sends there, as it sends it. */
function sending(method: "post" | "put" | "delete", path: string): unknown[] {
  const bodies: unknown[] = [];
  server.use(
    http[method](`*${PATH}${path}`, async ({ request }) => {
      const text = await request.text();
      bodies.push(text ? JSON.parse(text) : null);
      return HttpResponse.json({});
    }),
  );
  return bodies;
}

describe("a model", () => {
  it("is waited for with a loading face", () => {
    hang(PATH);
    show();
    expect(screen.getByRole("status", { name: "Loading" })).toBeInTheDocument();
  });

  it("that is not there says so", async () => {
    refuse(PATH, 404, { title: "Not found", detail: "no model 'click_model'; did you mean 'clicks'?" });
    show();
    expect(await screen.findByText(/did you mean 'clicks'/)).toBeInTheDocument();
  });

  it("of which no version is left tells how to upload one", async () => {
    answer(PATH, { ...aModel, versions: [] });
    show();
    expect(await screen.findByText("No version of it is left")).toBeInTheDocument();
  });

  it("shows its versions newest first, with the newest one's schema and history", async () => {
    answer(PATH, aModel);
    show();
    const table = await screen.findByRole("table", { name: "Versions" });
    expect(within(table).getByText("10 %")).toBeInTheDocument();
    const schema = screen.getByRole("table", { name: "Inputs and outputs" });
    expect(within(schema).getByText("[any, 22]")).toBeInTheDocument();
    expect(screen.getByText(/dev → staging by operator: release/)).toBeInTheDocument();
  });

  it("moves a version to production with a reason", async () => {
    answer(PATH, aModel);
    const sent = sending("post", "/versions/2/promote");
    show();
    await userEvent.click(await screen.findByRole("button", { name: "Change the stage of version 2" }));
    const dialog = screen.getByRole("dialog", { name: "Stage of click_model 2" });
    expect(within(dialog).getByText(/Version 1 is replaced/)).toBeInTheDocument();
    await userEvent.type(within(dialog).getByLabelText("Reason"), "better");
    await userEvent.click(within(dialog).getByRole("button", { name: "Move to production" }));
    await waitFor(() => expect(sent).toEqual([{ stage: "production", reason: "better" }]));
    expect(await screen.findByText("click_model 2 is in production")).toBeInTheDocument();
  });

  it("is deleted only after a confirmation, and a refusal is told", async () => {
    answer(PATH, aModel);
    refuse(`${PATH}/versions/1`, 409, { title: "click_model@1 is in production" }, "delete");
    show();
    await userEvent.click(await screen.findByRole("button", { name: "Delete version 1" }));
    const dialog = screen.getByRole("dialog", { name: "Delete click_model 1?" });
    await userEvent.click(within(dialog).getByRole("button", { name: "Delete" }));
    expect(await within(dialog).findByText("click_model@1 is in production")).toBeInTheDocument();
  });

  it("splits traffic only when the shares add up", async () => {
    answer(PATH, aModel);
    const sent = sending("put", "/traffic");
    show();
    await userEvent.click(await screen.findByRole("button", { name: "Set traffic…" }));
    const dialog = screen.getByRole("dialog", { name: "Traffic of click_model" });
    const second = within(dialog).getByLabelText("Version 2 (staging)");
    await userEvent.clear(second);
    await userEvent.type(second, "50");
    expect(within(dialog).getByRole("button", { name: "Set traffic" })).toBeDisabled();
    expect(within(dialog).getByText(/add up to 140 %/)).toBeInTheDocument();
    const first = within(dialog).getByLabelText("Version 1 (production)");
    await userEvent.clear(first);
    await userEvent.type(first, "50");
    await userEvent.click(within(dialog).getByRole("button", { name: "Set traffic" }));
    await waitFor(() => expect(sent).toEqual([{ "1": 50, "2": 50 }]));
  });

  it("tells a version's problem beside its schema", async () => {
    const broken = { ...aVersion("click_model", "3", "dev"), problem: "w2 could not load it" };
    answer(PATH, { ...aModel, versions: [...aModel.versions, broken] });
    show();
    expect(await screen.findByText("w2 could not load it")).toBeInTheDocument();
  });
});
