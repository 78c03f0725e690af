import { Fragment } from "preact";
import { localTime } from "../time.ts";

const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A text of the server whose times are in the language and the time zone of the reader. */
export function Prose({ text }: { text: string }) {
  return (
    <>
      {text.split(TIME).map((part, index) =>
        index % 2 === 0 ? (
          <Fragment key={index}>{part}</Fragment>
        ) : (
          <time key={index} dateTime={part} title={part}>
            {localTime(part)}
          </time>
        ),
      )}
    </>
  );
}
