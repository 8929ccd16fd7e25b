import { expect, open, test, given } from "./world";

test.describe("a model", () => {
  // Its page hears of the deletion, and may ask for the model once more before it is left.
  test.use({ provoked: /status of 404/ });

  test("is uploaded, moved to production, and deleted", async ({ page }) => {
    await open(page, "/models", "Models");
    await page.getByRole("button", { name: "Upload a model" }).click();
    const upload = page.getByRole("dialog", { name: "Upload a model" });
    await upload.getByLabel("Model files").setInputFiles(given("UI_MODEL"));
    await upload.getByRole("textbox", { name: "Model" }).fill("uploaded_model");
    await upload.getByRole("button", { name: "Upload" }).click();
    await expect(upload.getByText(/is in dev/)).toBeVisible();
    await upload.getByRole("link", { name: "uploaded_model 1" }).click();

    await expect(page.getByRole("heading", { level: 1, name: "uploaded_model" })).toBeVisible();
    await page.getByRole("button", { name: "Change the stage of version 1" }).click();
    await page.getByLabel("Reason").fill("a first try");
    await page.getByRole("button", { name: "Move to production" }).click();
    await expect(page.getByText("dev → production", { exact: false })).toBeVisible();

    await page.getByRole("button", { name: "Change the stage of version 1" }).click();
    await page.getByRole("button", { name: "Move to archived" }).click();
    await expect(page.getByText("production → archived", { exact: false })).toBeVisible();
    await page.getByRole("button", { name: "Delete version 1" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("uploaded_model 1 is deleted")).toBeVisible();
    await expect(page.getByRole("heading", { level: 1, name: "Models" })).toBeVisible();
    await expect(page.getByRole("link", { name: "uploaded_model" })).toHaveCount(0);
  });
});

test.describe("what is no model", () => {
  test.use({ provoked: /Failed to load resource/ });

  test("is refused with the reason, and never listed", async ({ page }) => {
    await open(page, "/models", "Models");
    await page.getByRole("button", { name: "Upload a model" }).click();
    const upload = page.getByRole("dialog", { name: "Upload a model" });
    const file = { name: "model.onnx", mimeType: "application/octet-stream", buffer: Buffer.from("<html>") };
    await upload.getByLabel("Model files").setInputFiles(file);
    await upload.getByRole("textbox", { name: "Model" }).fill("rubbish");
    await upload.getByRole("button", { name: "Upload" }).click();
    await expect(upload.getByRole("alert")).toContainText(/model\.onnx|ONNX/);
    await upload.getByRole("button", { name: "Cancel" }).click();
    await expect(page.getByRole("link", { name: "click_model" })).toBeVisible();
    await expect(page.getByRole("link", { name: "rubbish" })).toHaveCount(0);
  });
});
