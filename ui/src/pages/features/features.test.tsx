import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { found, schema } from "../../test/fixtures/features";
import { me } from "../../test/fixtures/me";
import { draw } from "../../test/render";
import { answer, hang, refuse, server } from "../../test/server";
import FeaturesPage from "./index";

const PATH = "/api/v1/features";
const keysField = () => screen.findByRole("textbox", { name: /^Keys/ });

describe("features", () => {
  it("are waited for with a loading face", () => {
    hang(PATH);
    draw(<FeaturesPage />);
    expect(screen.getByRole("status", { name: "Loading" })).toBeInTheDocument();
  });

  it("that are none at all tell where they are described", async () => {
    answer(PATH, { backend: "memory", entities: [] });
    draw(<FeaturesPage />);
    expect(await screen.findByText("The feature store has no entities")).toBeInTheDocument();
  });

  it("that cannot be asked for say why", async () => {
    refuse(PATH, 503, { title: "Redis does not answer" });
    draw(<FeaturesPage />);
    expect(await screen.findByText("Redis does not answer")).toBeInTheDocument();
  });

  it("show types, defaults and how long they live, by entity", async () => {
    answer(PATH, schema);
    const { address } = draw(<FeaturesPage />);
    expect(await screen.findByText("kept for 30 d")).toBeInTheDocument();
    expect(screen.getByText("FP32Vector[16]")).toBeInTheDocument();
    await userEvent.click(screen.getByRole("tab", { name: "user_category" }));
    expect(screen.getByText("kept for ever")).toBeInTheDocument();
    expect(address()).toBe("/?entity=user_category");
  });
});

describe("a look-up", () => {
  beforeEach(() => answer(PATH, schema));

  it("shows every value with its state and how fresh it is", async () => {
    let asked: unknown;
    server.use(
      http.post(`*${PATH}/user/lookup`, async ({ request }) => {
        asked = await request.json();
        return HttpResponse.json(found);
      }),
    );
    draw(<FeaturesPage />);
    await userEvent.type(await keysField(), "7\n9");
    await userEvent.click(screen.getByRole("button", { name: "Look up" }));
    const seven = await screen.findByRole("region", { name: "user_id 7" });
    expect(within(seven).getByText("partial")).toBeInTheDocument();
    expect(within(seven).getByText("34")).toBeInTheDocument();
    expect(within(seven).getByText("default")).toBeInTheDocument();
    expect(within(seven).getByText(/^written .* ago, expires in/)).toBeInTheDocument();
    const nine = screen.getByRole("region", { name: "user_id 9" });
    expect(within(nine).getByText("missing")).toBeInTheDocument();
    expect(asked).toEqual({ keys: [["7"], ["9"]], groups: [] });
  });

  it("of a key with too few parts is not asked", async () => {
    draw(<FeaturesPage />, { at: "/?entity=user_category" });
    await userEvent.type(await keysField(), "7");
    await userEvent.click(screen.getByRole("button", { name: "Look up" }));
    expect(await screen.findByText(/keys have 2 parts/)).toBeInTheDocument();
  });

  it("that fails says why", async () => {
    refuse(`${PATH}/user/lookup`, 503, { title: "The store does not answer" }, "post");
    draw(<FeaturesPage />);
    await userEvent.type(await keysField(), "7");
    await userEvent.click(screen.getByRole("button", { name: "Look up" }));
    expect(await screen.findByText("The store does not answer")).toBeInTheDocument();
  });
});

describe("a write", () => {
  beforeEach(() => answer(PATH, schema));

  it("sends only what was filled in, after its button has said to where", async () => {
    let sent: unknown;
    server.use(
      http.put(`*${PATH}/user/profile`, async ({ request }) => {
        sent = await request.json();
        return HttpResponse.json({ written: 1 });
      }),
    );
    answer(`${PATH}/user/lookup`, found, "post");
    draw(<FeaturesPage />);
    await userEvent.click(await screen.findByRole("button", { name: "Write values…" }));
    const dialog = screen.getByRole("dialog", { name: "Write values of user" });
    await userEvent.type(within(dialog).getByLabelText(/user_id/), "7");
    await userEvent.type(within(dialog).getByLabelText(/^age/), "old");
    expect(within(dialog).getByText(/a number is expected/)).toBeInTheDocument();
    expect(within(dialog).getByRole("button", { name: "Write to the live store" })).toBeDisabled();
    await userEvent.clear(within(dialog).getByLabelText(/^age/));
    await userEvent.type(within(dialog).getByLabelText(/^age/), "35");
    await userEvent.click(within(dialog).getByRole("button", { name: "Write 1 to the live store" }));
    await waitFor(() => expect(sent).toEqual({ rows: [{ key: ["7"], values: { age: 35 } }] }));
    expect(await screen.findByRole("region", { name: "user_id 7" })).toBeInTheDocument();
  });

  it("is not offered to whoever may only look", async () => {
    answer("/api/v1/me", me({ auth: "on", permissions: ["view"] }));
    draw(<FeaturesPage />);
    await keysField();
    expect(screen.queryByRole("button", { name: "Write values…" })).not.toBeInTheDocument();
  });
});
