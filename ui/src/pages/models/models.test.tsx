import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { me } from "../../test/fixtures/me";
import { aVersion, models } from "../../test/fixtures/models";
import { draw } from "../../test/render";
import { answer, hang, refuse, server } from "../../test/server";
import ModelsPage from "./index";

const PATH = "/api/v1/models";
const aFile = () => new File(["onnx bytes"], "model.onnx");

async function openedUpload() {
  draw(<ModelsPage />);
  await userEvent.click(await screen.findByRole("button", { name: "Upload a model" }));
  return screen.getByRole("dialog", { name: "Upload a model" });
}

async function filledUpload() {
  const dialog = await openedUpload();
  await userEvent.upload(within(dialog).getByLabelText("Model files"), aFile());
  await userEvent.type(within(dialog).getByLabelText(/Model \*|^Model\b(?! files)/), "click_model");
  return dialog;
}

describe("models", () => {
  it("are waited for with a loading face", () => {
    hang(PATH);
    draw(<ModelsPage />);
    expect(screen.getByRole("status", { name: "Loading" })).toBeInTheDocument();
  });

  it("that are none at all come with the command that uploads one", async () => {
    answer(PATH, { models: [] });
    draw(<ModelsPage />);
    expect(await screen.findByText("No model is registered yet")).toBeInTheDocument();
    expect(screen.getByText(/inferflow models upload/)).toBeInTheDocument();
  });

  it("that cannot be listed say why", async () => {
    refuse(PATH, 503, { title: "The manager does not answer", hint: "Start one" });
    draw(<ModelsPage />);
    expect(await screen.findByText("The manager does not answer")).toBeInTheDocument();
    expect(screen.getByText("Start one")).toBeInTheDocument();
  });

  it("show what is in production, who gets how much, and which have a problem", async () => {
    answer(PATH, models);
    draw(<ModelsPage />);
    const click = await screen.findByRole("row", { name: /click_model/ });
    expect(within(click).getByText("version 1")).toBeInTheDocument();
    expect(within(click).getByText("version 1: 90 %, version 2: 10 %")).toBeInTheDocument();
    expect(within(click).getByRole("link")).toHaveAttribute("href", "/models/click_model");
    const page = screen.getByRole("row", { name: /page_model/ });
    expect(within(page).getByText("problem")).toBeInTheDocument();
  });

  it("are not offered for upload to whoever may not", async () => {
    answer("/api/v1/me", me({ auth: "on", permissions: ["view"] }));
    answer(PATH, models);
    draw(<ModelsPage />);
    await screen.findByRole("row", { name: /click_model/ });
    expect(screen.queryByRole("button", { name: "Upload a model" })).not.toBeInTheDocument();
  });
});

describe("an upload", () => {
  beforeEach(() => answer(PATH, models));

  it("waits for a file and a name", async () => {
    const dialog = await openedUpload();
    expect(within(dialog).getByRole("button", { name: "Upload" })).toBeDisabled();
  });

  it("sends the file and shows what was understood of it", async () => {
    let sent: FormData | undefined;
    server.use(
      http.post("*/api/v1/models/click_model/versions", async ({ request }) => {
        sent = await request.formData();
        return HttpResponse.json(aVersion("click_model", "3", "dev"));
      }),
    );
    const dialog = await filledUpload();
    await userEvent.click(within(dialog).getByRole("button", { name: "Upload" }));
    expect(await within(dialog).findByRole("link", { name: "click_model 3" })).toBeInTheDocument();
    expect(within(dialog).getByText("[any, 22]")).toBeInTheDocument();
    expect(sent?.get("stage")).toBe("dev");
    expect(sent?.has("file")).toBe(true);
  });

  it("that is refused says why, and can be tried again", async () => {
    refuse(
      `${PATH}/click_model/versions`,
      422,
      {
        title: "This is no model",
        detail: "model.onnx is not an ONNX file",
        hint: "Export it with opset 19",
      },
      "post",
    );
    const dialog = await filledUpload();
    await userEvent.click(within(dialog).getByRole("button", { name: "Upload" }));
    expect(await within(dialog).findByText("model.onnx is not an ONNX file")).toBeInTheDocument();
    expect(within(dialog).getByRole("button", { name: "Upload" })).toBeEnabled();
  });

  it("shows how far it is while it is under way", async () => {
    hang(`${PATH}/click_model/versions`, "post");
    const dialog = await filledUpload();
    await userEvent.click(within(dialog).getByRole("button", { name: "Upload" }));
    expect(await within(dialog).findByRole("progressbar", { name: "Upload" })).toBeInTheDocument();
    await userEvent.click(within(dialog).getByRole("button", { name: "Cancel" }));
  });
});
