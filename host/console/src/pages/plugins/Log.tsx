/** The last lines of a plugin's log, followed as they come. */
import { useQuery } from "@tanstack/react-query";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, SearchField, Select, Switch } from "../../ui/controls";
import { useFollow } from "../../ui/follow";
import { Empty, Loaded, Section, Tag, type Tone } from "../../ui/page";
import { useTyped } from "../../ui/typed";
import { type LogLine, logQuery, type Plugin, short } from "./plugins";
import { TEXTS } from "./texts";

const LEVELS = ["trace", "debug", "info", "warn", "error"];
const TONES: Record<string, Tone> = { warn: "warn", error: "bad", info: "busy" };

export function Log({ address, plugin }: { address: string; plugin: Plugin }) {
  const t = useTexts(TEXTS);
  const { text, set } = useAddress();
  const [keyword, setKeyword] = useTyped("q");
  const isFollowed = text("follow") !== "false";
  const log = useQuery(logQuery(address, isFollowed));
  const level = LEVELS.includes(text("level")) ? text("level") : "";
  const choices = [{ value: "", label: t.anyLevel }, ...LEVELS.slice(1).map((one) => ({ value: one, label: t.fromLevel(one) }))];
  const digests = [{ value: "", label: t.anyGeneration }, ...plugin.generations.map((one) => ({
    value: short(one.digest), label: `${one.version} (${short(one.digest)})`,
  }))];
  const digest = digests.some((one) => one.value === text("generation")) ? text("generation") : "";
  return (
    <Section title={t.logs} actions={<Switch label={t.follow} isSelected={isFollowed} onChange={(on) => set({ follow: on ? undefined : false }, true)} />}>
      <div className="filters">
        <SearchField label={t.searchLog} value={keyword} onChange={setKeyword} />
        <Select label={t.level} isLabelHidden value={level} onChange={(next) => set({ level: next }, true)} choices={choices} />
        <Select label={t.generation} isLabelHidden value={digest} onChange={(next) => set({ generation: next }, true)} choices={digests} />
      </div>
      <Loaded query={log}>
        {(lines) => <Lines lines={lines} level={level} digest={digest} keyword={keyword} isFollowed={isFollowed} />}
      </Loaded>
      <p className="small">{t.logNote}</p>
    </Section>
  );
}

function Lines({ lines, level, digest, keyword, isFollowed }: {
  lines: LogLine[]; level: string; digest: string; keyword: string; isFollowed: boolean;
}) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const wanted = keyword.toLowerCase();
  const from = LEVELS.indexOf(level);
  const shown = lines.filter((line) => LEVELS.indexOf(line.level) >= from && line.digest.startsWith(digest)
    && (wanted === "" || `${line.message} ${line.call} ${line.fields.map((field) => `${field.name}=${field.value}`).join(" ")}`.toLowerCase().includes(wanted)));
  const last = shown.at(-1);
  const { box, isAtEnd, onScroll, toEnd } = useFollow<HTMLDivElement>(isFollowed, shown.length, last?.time, last?.message);
  if (lines.length === 0) return <Empty icon="audit" title={t.logEmpty}>{t.logEmptyNote}</Empty>;
  if (shown.length === 0) return <Empty icon="search" title={t.logNoFit} />;
  return (
    <>
      <div className="plugins-log" ref={box} tabIndex={0} role="log" aria-label={t.logs} onScroll={onScroll}>
        {shown.map((line, place) => (
          <div key={place} className="plugins-line">
            <time>{line.time}</time>
            <Tag tone={TONES[line.level] ?? "plain"}>{line.level}</Tag>
            <code title={line.digest}>{short(line.digest)}</code>
            <span className="plugins-message">
              {line.message}
              {line.fields.map((field, at) => <span key={at} className="faint"> {field.name}={field.value}</span>)}
              <span className="faint" title={t.call}> {line.call}</span>
            </span>
          </div>
        ))}
      </div>
      <div className="row">
        <p className="small">{t.lines(format.number(shown.length), format.number(lines.length))}</p>
        {isFollowed && !isAtEnd && <Button icon="down" onPress={toEnd}>{t.toEnd}</Button>}
      </div>
    </>
  );
}
