/** The main paths of workflows and runs, each step as the role that may do it. */
import { type Page } from "@playwright/test";
import { choose, expect, type Role, settled, signIn, test } from "./support";

const NAME = "city report";
const SQL = "DELETE FROM ads_city_sales WHERE city = 'nowhere';\nINSERT INTO ads_city_sales\nSELECT '2026-01', city, count(*), 0, 0 FROM ods_customers WHERE city = 'nowhere' GROUP BY city";

/** Leads to the workflow; signs in first if a role is given. */
async function open(page: Page, role: Role | null, tab?: string) {
  if (role) await signIn(page, role);
  await page.goto("/workflows");
  await page.getByRole("link", { name: NAME, exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(NAME);
  if (tab) await page.getByRole("tab", { name: tab, exact: true }).click();
}

test("an editor makes a workflow with a task, whose tables are found while it is typed", async ({ page }) => {
  await signIn(page, "editor");
  await page.goto("/workflows");
  await page.getByRole("button", { name: "Create workflow" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill(NAME);
  await page.getByRole("dialog").getByRole("button", { name: "Create workflow" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(NAME);

  await page.getByRole("button", { name: "Add task" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("cities");
  const editor = page.getByRole("textbox", { name: "SQL" });
  await editor.fill("INSERT INTO ads_city_sales SELECT * FROM ods_nothing");
  await expect(page.getByText("not in the catalogue")).toBeVisible();
  await editor.fill(SQL);
  await expect(page.getByRole("link", { name: /ods_customers$/ })).toBeVisible();
  await expect(page.getByRole("link", { name: /ads_city_sales$/ })).toBeVisible();
  await expect(page.getByText("not in the catalogue")).toHaveCount(0);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("img", { name: /^cities,/ })).toBeVisible();
  // A second change makes the version that is compared.
  await page.getByLabel("Retries").fill("2");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("button", { name: "Discard changes" })).toHaveCount(0);
  await page.getByRole("tab", { name: "Versions" }).click();
  await page.getByRole("button", { name: "What changed" }).first().click();
  const comparison = page.getByRole("row", { name: /retries/ });
  await expect(comparison).toContainText("0");
  await expect(comparison).toContainText("2");
  await expect(page).toHaveURL(/v1=2.*v2=3/);
});

test("an editor sets the schedule, sees its next ten times, and asks for the publication", async ({ page }) => {
  await open(page, "editor", "Schedule");
  await page.getByLabel("Cron expression").fill("0 0 4 * *");
  await expect(page.getByText("The schedule as typed is not valid", { exact: false })).toBeVisible();
  await page.getByRole("button", { name: "Daily at 04:10" }).click();
  const times = page.getByRole("table").getByRole("time");
  await expect(times).toHaveCount(10);
  for (const time of await times.allTextContents()) expect(time).toMatch(/ 04:10:00$/);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("button", { name: "Discard changes" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Save", exact: true })).toBeDisabled();

  // The button leads to the form, where it is not needed.
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await expect(page.getByLabel("Comment")).toBeFocused();
  await expect(page.getByLabel("Comment")).toBeInViewport();
  await expect(page.getByRole("button", { name: "Publish", exact: true })).toHaveCount(0);
  await page.getByLabel("Comment").fill("The first version");
  await page.getByRole("button", { name: "Submit for approval" }).click();
  await expect(page.getByText("Approving takes the role approver.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Approve and deploy" })).toHaveCount(0);
});

test("what is typed stays when another one changes the workflow, and does not overwrite that", async ({ page }) => {
  await open(page, "editor", "Schedule");
  await page.getByRole("button", { name: "Hourly" }).click();
  const typed = await page.getByLabel("Cron expression").inputValue();
  await page.getByRole("tab", { name: "Settings", exact: true }).click();
  await page.getByRole("dialog", { name: "Unsaved changes" }).getByRole("button", { name: "Stay" }).click();
  await expect(page.getByLabel("Cron expression")).toHaveValue(typed);
  const id = new URL(page.url()).pathname.split("/").at(-1);
  const headers = { "X-Lakeport-Console": "1" };
  const changed = await page.request.put(`/api/v1/workflows/${id}`, { headers, data: { description: "by another one" } });
  expect(changed.ok(), await changed.text()).toBe(true);
  await expect(page.getByText("by another one")).toBeVisible();
  await expect(page.getByLabel("Cron expression")).toHaveValue(typed);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("Somebody has changed this");
  await expect(page.getByLabel("Cron expression")).toHaveValue(typed);
  await page.getByRole("button", { name: "Discard mine and load the newer one" }).click();
  await expect(page.getByLabel("Cron expression")).toHaveValue("0 10 4 * * ? *");
});

test("an approver approves it, and the engine gets it", async ({ page }) => {
  await signIn(page, "approver");
  await page.goto("/approvals");
  await page.getByRole("row", { name: new RegExp(NAME) }).getByRole("button", { name: "Review" }).click();
  await expect(page).toHaveURL(/workflow=\d+/);
  await page.getByLabel("Comment on the decision").fill("fine");
  await page.getByRole("button", { name: "Approve and deploy" }).click();
  await expect(page.getByText("Nothing waits for approval")).toBeVisible();
  await open(page, null, "Publication");
  await expect(page.getByRole("region", { name: "History of publications" }).getByRole("row", { name: /approved.*fine.*success/ })).toBeVisible();
});

test("an editor runs it, reads its log, and brings its schedule online", async ({ page }) => {
  await open(page, "editor");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).toHaveURL(/\/runs\/\d+/);
  await page.getByRole("button", { name: "cities", exact: true }).click();
  const log = page.getByRole("log", { name: "Log of cities" });
  await expect(log).toContainText("statement 2: INSERT");
  await expect(page.getByRole("heading", { name: /cities success/ })).toBeVisible();
  await page.reload();
  await expect(log).toContainText("statement 2: INSERT");
  await open(page, null);
  await page.getByRole("button", { name: "Bring online" }).click();
  await expect(page.getByRole("button", { name: "Take offline" })).toBeVisible();
});

test("an editor runs past days again, after a preview", async ({ page }) => {
  await open(page, "editor", "Backfill");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByText("A time is missing.")).toHaveCount(2);
  await page.getByLabel("From").fill("2026-01-10T00:00:00");
  await page.getByLabel("To (included)").fill("2026-01-09T00:00:00");
  await expect(page.getByText("The end is before the start.")).toBeVisible();
  // What only the server knows is said in English, too, at its field.
  await page.getByLabel("To (included)").fill("2026-01-10T00:00:01");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByText("The schedule has no time in this range.")).toHaveCount(1);
  await page.getByLabel("From").fill("2026-01-10T00:00:00");
  await page.getByLabel("To (included)").fill("2026-01-12T23:00:00");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByRole("list", { name: "Dates in the order of their runs" }).getByRole("listitem"))
    .toHaveText(["2026-01-12 04:10:00", "2026-01-11 04:10:00", "2026-01-10 04:10:00"]);
  await page.getByRole("button", { name: "Start 3 runs" }).click();
  await expect(page).toHaveURL(/backfill=/);
  const dates = page.getByRole("region", { name: "Dates in the order of their runs" });
  await expect(dates.getByRole("row", { name: /success/ })).toHaveCount(3, { timeout: 60_000 });
});

test("a run is found in the grid, its failed task is retried, and a running one is cancelled", async ({ page, request }) => {
  await signIn(page, "editor");
  await page.goto("/runs");
  await settled(page);
  const isLonger = await page.evaluate(() => document.documentElement.scrollHeight > Math.max(window.innerHeight, document.querySelector(".shell")!.clientHeight));
  expect(isLonger, "nothing hidden makes room below the page").toBe(false);
  await choose(page, "Workflow", "daily sales");
  const grid = page.getByRole("grid");
  await grid.getByRole("button", { name: /^daily totals, .* failed$/ }).first().click();
  await expect(page).toHaveURL(/run=.*task=|task=.*run=/);
  await expect(page.getByRole("log", { name: "Log of daily totals" })).toContainText("failed");
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(page).toHaveURL(/\/workflows\/\d+\/runs\/\d+/);
  await expect(page.getByRole("heading", { name: /daily totals success/ })).toBeVisible({ timeout: 60_000 });
  await page.goto("/runs?tab=failed");
  await expect(page.getByRole("region", { name: "Executions" }).getByRole("row").nth(1)).toBeVisible();

  // A task that takes long: as the server's own client, then cancelled on the page.
  const headers = { Authorization: `Bearer ${process.env.TOKEN_ADMIN}` };
  const send = async (path: string, data: object) => {
    const answer = await request.post(`/api/v1/${path}`, { headers, data });
    expect(answer.ok(), await answer.text()).toBe(true);
    return (await answer.json()).data;
  };
  const sources = (await (await request.get("/api/v1/datasources", { headers })).json()).data.records;
  const slow = await send("workflows", { name: "slow" });
  await send("tasks", {
    task: {
      taskName: "waits", taskType: "SQL", workflowId: slow.id, datasourceId: sources.find((one: { name: string }) => one.name === "lakeside").id,
      sqlContent: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000000) SELECT count(*) FROM n",
    },
  });
  const record = await send(`workflows/${slow.id}/publish`, {});
  const approve = await request.post(`/api/v1/workflows/${slow.id}/publish/${record.recordId}/approve`, {
    headers: { Authorization: `Bearer ${process.env.TOKEN_APPROVER}` }, data: { status: "APPROVED" },
  });
  expect(approve.ok(), await approve.text()).toBe(true);
  const run = await send(`workflows/${slow.id}/execute`, {});
  await page.goto("/runs?tab=running");
  await expect(page.getByRole("row", { name: /waits/ })).toBeVisible();
  await page.goto(`/workflows/${slow.id}/runs/${run}`);
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Keep running" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.locator(".facts > div").filter({ hasText: "Took" })).toContainText(/\d+ s/);
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel run" }).click();
  await expect(page.getByRole("button", { name: "Cancel run" })).toHaveCount(0);
  await expect(page.getByText("killed").first()).toBeVisible();
});

test("a viewer reads all of it and is offered no change", async ({ page }) => {
  await open(page, "viewer");
  for (const name of ["Add task", "Run", "Take offline", "Save"]) {
    await expect(page.getByRole("button", { name, exact: true })).toHaveCount(0);
  }
  await page.getByRole("img", { name: /^cities,/ }).click();
  await expect(page.getByRole("textbox", { name: "SQL" })).toHaveAttribute("aria-readonly", "true");
  await page.goto("/tables");
  await expect(page.getByRole("button", { name: "New table" })).toHaveCount(0);
  await page.getByRole("link", { name: "ods_orders", exact: true }).click();
  await expect(page.getByRole("tab", { name: /Fields/ })).toBeVisible();
  await expect(page.getByRole("button", { name: /^Edit: / })).toHaveCount(0);
});
