import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { audit, aNewKey, keys } from "../../test/fixtures/keys";
import { me } from "../../test/fixtures/me";
import { draw } from "../../test/render";
import { answer, hang, refuse, server } from "../../test/server";
import KeysPage from "./index";

const PATH = "/api/v1/keys";

describe("keys", () => {
  beforeEach(() => answer("/api/v1/audit", audit));

  it("are waited for with a loading face", () => {
    hang(PATH);
    draw(<KeysPage />);
    expect(screen.getAllByRole("status", { name: "Loading" }).length).toBeGreaterThan(0);
  });

  it("that are none at all come with the command that makes one", async () => {
    answer(PATH, { keys: [] });
    draw(<KeysPage />);
    expect(await screen.findByText("No key has been made yet")).toBeInTheDocument();
  });

  it("that may not be seen say so", async () => {
    refuse(PATH, 403, { title: "This key lacks the permission 'admin'" });
    draw(<KeysPage />);
    expect(await screen.findByText("This key lacks the permission 'admin'")).toBeInTheDocument();
  });

  it("show what each may do and whether it still may", async () => {
    answer(PATH, keys);
    draw(<KeysPage />);
    const live = await screen.findByRole("row", { name: /^checkout/ });
    for (const text of ["live", "inference, view", "click_*", "50/s, burst 100"])
      expect(within(live).getByText(text)).toBeInTheDocument();
    expect(within(screen.getByRole("row", { name: /nightly/ })).getByText("expired")).toBeInTheDocument();
    const revoked = screen.getByRole("row", { name: /^laptop/ });
    expect(within(revoked).getByText("revoked")).toBeInTheDocument();
    expect(within(revoked).queryByRole("button")).not.toBeInTheDocument();
  });

  it("that this gateway lives by are marked, and cannot be revoked", async () => {
    answer(PATH, { keys: [{ ...keys.keys[0], is_own: true }] });
    draw(<KeysPage />);
    const own = await screen.findByRole("row", { name: /^checkout/ });
    expect(within(own).getByText("in use by this gateway")).toBeInTheDocument();
    expect(within(own).queryByRole("button")).not.toBeInTheDocument();
  });

  it("come with who changed what", async () => {
    answer(PATH, keys);
    draw(<KeysPage />);
    const changes = await screen.findByRole("table", { name: "Changes" });
    expect(within(changes).getByText("key revoked")).toBeInTheDocument();
    expect(within(changes).getByText("name checkout")).toBeInTheDocument();
  });

  it("cannot be made by whoever may only look", async () => {
    answer("/api/v1/me", me({ auth: "on", permissions: ["view"] }));
    answer(PATH, keys);
    draw(<KeysPage />);
    await screen.findByRole("row", { name: /^checkout/ });
    expect(screen.queryByRole("button", { name: "Create a key" })).not.toBeInTheDocument();
    expect(screen.queryByRole("button", { name: /Revoke/ })).not.toBeInTheDocument();
  });
});

describe("a new key", () => {
  beforeEach(() => {
    answer("/api/v1/audit", audit);
    answer(PATH, keys);
  });

  async function created() {
    draw(<KeysPage />);
    await userEvent.click(await screen.findByRole("button", { name: "Create a key" }));
    const form = screen.getByRole("dialog", { name: "Create a key" });
    expect(within(form).getByRole("button", { name: "Create" })).toBeDisabled();
    await userEvent.type(within(form).getByLabelText(/^Name/), "checkout");
    await userEvent.click(within(form).getByRole("checkbox", { name: /^view/ }));
    await userEvent.click(within(form).getByRole("button", { name: "Create" }));
  }

  it("is shown once, until somebody says that it is stored", async () => {
    let sent: unknown;
    server.use(
      http.post(`*${PATH}`, async ({ request }) => {
        sent = await request.json();
        return HttpResponse.json(aNewKey);
      }),
    );
    await created();
    const shown = await screen.findByRole("dialog", { name: "The key of checkout" });
    expect(within(shown).getByText(aNewKey.text)).toBeInTheDocument();
    expect(sent).toEqual({ name: "checkout", permissions: ["inference", "view"], models: [] });
    await userEvent.keyboard("{Escape}");
    expect(within(shown).getByRole("button", { name: "Done" })).toBeDisabled();
    await userEvent.click(within(shown).getByRole("checkbox", { name: "I have stored it" }));
    await userEvent.click(within(shown).getByRole("button", { name: "Done" }));
    await waitFor(() => expect(screen.queryByText(aNewKey.text)).not.toBeInTheDocument());
  });

  it("that is refused says why", async () => {
    refuse(PATH, 400, { title: "The request is wrong", field: "name", detail: "too long" }, "post");
    await created();
    expect(await screen.findByText("Field: name")).toBeInTheDocument();
  });
});

it("a key is revoked only after a confirmation", async () => {
  answer("/api/v1/audit", audit);
  answer(PATH, keys);
  answer(`${PATH}/00000000ad01`, keys.keys[0]!, "delete");
  draw(<KeysPage />);
  await userEvent.click(await screen.findByRole("button", { name: "Revoke checkout" }));
  const dialog = screen.getByRole("dialog", { name: "Revoke checkout?" });
  await userEvent.click(within(dialog).getByRole("button", { name: "Revoke" }));
  expect(await screen.findByText("checkout is revoked")).toBeInTheDocument();
});
