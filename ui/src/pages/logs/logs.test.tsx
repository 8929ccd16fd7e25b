import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { aRecord, logs, logsOff } from "../../test/fixtures/logs";
import { draw } from "../../test/render";
import { answer, hang, refuse, server } from "../../test/server";
import LogsPage from "./index";

const PATH = "/api/v1/logs";

describe("the inference log", () => {
  it("is waited for with a loading face", () => {
    hang(PATH);
    draw(<LogsPage />);
    expect(screen.getByRole("status", { name: "Loading" })).toBeInTheDocument();
  });

  it("that is off tells how to turn it on", async () => {
    answer(PATH, logsOff);
    draw(<LogsPage />);
    expect(await screen.findByText("The inference log is off")).toBeInTheDocument();
    expect(screen.getByText("INFERFLOW_LOGS_SINK=files inferflow up")).toBeInTheDocument();
    expect(screen.queryByRole("search")).not.toBeInTheDocument();
  });

  it("that is empty says when something will appear", async () => {
    answer(PATH, { ...logs, records: [] });
    draw(<LogsPage />);
    expect(await screen.findByText("Nothing is logged yet")).toBeInTheDocument();
  });

  it("that has nothing like it says so", async () => {
    answer(PATH, { ...logs, records: [] });
    draw(<LogsPage />, { at: "/logs?user=nobody" });
    expect(await screen.findByText("Nothing in the log matches")).toBeInTheDocument();
  });

  it("that cannot be read says why", async () => {
    refuse(PATH, 503, { title: "Kafka does not answer" });
    draw(<LogsPage />);
    expect(await screen.findByText("Kafka does not answer")).toBeInTheDocument();
  });

  it("opens a request to show every column of its rows", async () => {
    answer(PATH, logs);
    draw(<LogsPage />);
    (await screen.findByRole("row", { name: /visit-ada/ })).focus();
    await userEvent.keyboard("{Enter}");
    const rows = screen.getByRole("table", { name: "Rows of visit-ada" });
    expect(within(rows).getByRole("columnheader", { name: "blend:final_score" })).toBeInTheDocument();
    expect(within(rows).getByText("1.31132")).toBeInTheDocument();
  });

  it("asks for what the filters say, and keeps them in the address", async () => {
    const asked: URLSearchParams[] = [];
    server.use(
      http.get(`*${PATH}`, ({ request }) => {
        asked.push(new URL(request.url).searchParams);
        return HttpResponse.json(logs);
      }),
    );
    const { address } = draw(<LogsPage />, { at: "/logs" });
    await userEvent.type(await screen.findByLabelText("User"), "ada");
    await userEvent.click(screen.getByRole("button", { name: "Search" }));
    expect(address()).toBe("/logs?user=ada");
    await waitFor(() => expect(asked.at(-1)?.get("user")).toBe("ada"));
    await userEvent.click(screen.getByRole("button", { name: "Clear" }));
    expect(address()).toBe("/logs");
  });

  it("shows older records when they are asked for", async () => {
    server.use(
      http.get(`*${PATH}`, ({ request }) => {
        const isSecond = new URL(request.url).searchParams.get("cursor") === "page-2";
        const older = { ...aRecord, tracking_id: "visit-older" };
        return HttpResponse.json(isSecond ? { ...logs, records: [older] } : { ...logs, next: "page-2" });
      }),
    );
    draw(<LogsPage />);
    await userEvent.click(await screen.findByRole("button", { name: "Show older" }));
    expect(await screen.findByRole("row", { name: /visit-older/ })).toBeInTheDocument();
    expect(screen.getByRole("row", { name: /visit-ada/ })).toBeInTheDocument();
    expect(screen.queryByRole("button", { name: "Show older" })).not.toBeInTheDocument();
  });
});
