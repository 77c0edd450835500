/** How executions ended, day by day. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Select } from "../../ui/controls";
import { Facts, Loaded, Section } from "../../ui/page";
import { TEXTS } from "./texts";

type Point = Schemas["ExecutionTrendPoint"];

const DAYS = [7, 30, 90] as const;
const HEIGHT = 96;

export function Trend({ taskId }: { taskId?: number | undefined }) {
  const t = useTexts(TEXTS).trend;
  const format = useFormat();
  const { number, set } = useAddress();
  const days = number("days", 30);
  const startTime = `${dayBefore(days - 1)} 00:00:00`;
  const query = useQuery({
    queryKey: ["executions", "statistics", startTime, taskId],
    queryFn: () => data<Schemas["ExecutionStatistics"]>(api.GET("/api/v1/executions/statistics", {
      params: { query: { startTime, ...(taskId === undefined ? {} : { taskId }) } },
    })),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const seconds = (value: number | null) => (value === null ? null : format.seconds(value));
  return (
    <Section title={t.title} actions={
      <Select label={t.period} isLabelHidden value={String(days)}
        onChange={(value) => set({ days: value === "30" ? undefined : Number(value) }, true)}
        choices={DAYS.map((value) => ({ value: String(value), label: t.days(value) }))} />
    }>
      <Loaded query={query}>
        {(statistics) => (
          <div className="runs-trend">
            <Facts facts={[
              [t.total, format.number(statistics.total)],
              [t.rate, statistics.successRate === null ? null : `${format.number(Number((statistics.successRate * 100).toFixed(1)))} %`],
              [t.allFailed, format.number(statistics.failed)],
              [t.running, format.number(statistics.running)],
              [t.average, seconds(statistics.avgDurationSeconds)],
              [t.p95, seconds(statistics.p95DurationSeconds)],
            ]} />
            <Bars points={statistics.trend.slice(-days)} />
          </div>
        )}
      </Loaded>
    </Section>
  );
}

function Bars({ points }: { points: readonly Point[] }) {
  const t = useTexts(TEXTS).trend;
  const most = Math.max(1, ...points.map((one) => one.total));
  const width = 100 / Math.max(points.length, 1);
  const height = (count: number) => (count / most) * HEIGHT;
  return (
    <figure className="runs-bars">
      <svg viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={t.chart}>
        {points.map((one, place) => {
          const other = one.total - one.success - one.failed;
          const x = place * width + width * 0.12;
          const parts = [["good", one.success], ["bad", one.failed], ["plain", other]] as const;
          let top = HEIGHT;
          return (
            <g key={one.date}>
              <title>{t.point(one.date, one.success, one.failed, other)}</title>
              <rect className="ground" x={place * width} y={0} width={width} height={HEIGHT} />
              {parts.map(([tone, count]) => {
                top -= height(count);
                return count > 0 && <rect key={tone} className={tone} x={x} y={top} width={width * 0.76} height={height(count)} />;
              })}
            </g>
          );
        })}
      </svg>
      <figcaption className="small">
        <span>{points[0]?.date}</span>
        <span className="runs-legend">
          <i className="good" />{t.success} <i className="bad" />{t.failed} <i className="plain" />{t.other}
        </span>
        <span>{points.at(-1)?.date}</span>
      </figcaption>
      {/* A table is never smaller than its rows: only a box around it hides it without room below the page. */}
      <div className="hidden">
        <table>
          <caption>{t.chart}</caption>
          <thead>
            <tr><th scope="col">{t.day}</th><th scope="col">{t.success}</th><th scope="col">{t.failed}</th><th scope="col">{t.total}</th></tr>
          </thead>
          <tbody>
            {points.map((one) => (
              <tr key={one.date}><th scope="row">{one.date}</th><td>{one.success}</td><td>{one.failed}</td><td>{one.total}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function dayBefore(days: number): string {
  const day = new Date();
  day.setDate(day.getDate() - days);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
