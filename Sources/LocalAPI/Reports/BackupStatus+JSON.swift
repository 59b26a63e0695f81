package import CRDTCore
internal import Foundation
package import PeerdKit

extension BackupStatus {
    /// The state as the API shows it.
    var json: JSON {
        .object([
            "schedule": self.schedule?.json ?? .null,
            "last": self.last?.statusJSON ?? .null,
            "next_ms": self.next.map { .milliseconds($0) } ?? .null,
            "failure": .text(self.failure?.message),
            "failure_advice": .text(self.failure?.advice),
            "failure_ms": self.failureDate.map { .milliseconds($0) } ?? .null,
        ])
    }
}

extension BackupSchedule {
    var json: JSON {
        .object([
            "every_seconds": .int(Int64(self.intervalSeconds)), "keep": .int(Int64(self.keptCount)),
            "folder": .string(self.folder.path),
        ])
    }
}

extension Backup {
    private var members: [ExactText: JSON] {
        [
            "path": .string(self.file.path), "time_ms": .milliseconds(self.date), "bytes": .int(Int64(self.byteCount)),
        ]
    }

    /// The backup as the API shows it.
    package var json: JSON { .object(self.members) }

    /// The same, and whether the file is still there.
    fileprivate var statusJSON: JSON {
        var members = self.members
        members["is_there"] = .bool(access(self.file.path, F_OK) == 0)
        return .object(members)
    }
}

/// The state of backups in words, from the JSON of a status.
package enum BackupReport {
    /// Returns sentences without full stops: the last backup, the plan, and what is wrong.
    package static func sentences(_ status: JSON) -> [String] {
        guard let backup = status["backup"] else { return [] }
        var sentences: [String] = []
        if let last = backup["last"], let time = last["time_ms"]?.integer {
            let isThere = last["is_there"]?.isTrue ?? false
            sentences.append(
                "last \(self.time(time)) in \(last["path"]?.text ?? "?")"
                    + (isThere ? "" : ", where it no longer is")
            )
        } else {
            sentences.append("none yet")
        }
        if let schedule = backup["schedule"], let seconds = schedule["every_seconds"]?.integer {
            sentences.append(
                "every \(DurationText.of(seconds: Int(seconds))) to \(schedule["folder"]?.text ?? "?"), "
                    + "keeping \(schedule["keep"]?.integer ?? 0)"
            )
        }
        if let failure = backup["failure"]?.text {
            let when = backup["failure_ms"]?.integer.map { self.time($0) } ?? "?"
            sentences.append("failed \(when): \(failure) \(backup["failure_advice"]?.text ?? "")")
        }
        return sentences
    }

    private static func time(_ milliseconds: Int64) -> String {
        PlainText.time(milliseconds: UInt64(clamping: milliseconds))
    }
}

/// Durations as people write them, such as 30m or 1d.
package enum DurationText {
    private static let units: [(letter: Character, seconds: Int)] = [
        ("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1),
    ]

    /// Reads a number and a unit; nil for anything else.
    package static func seconds(_ text: String) -> Int? {
        guard let unit = self.units.first(where: { $0.letter == text.last }) else { return nil }
        let digits = text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits), number > 0
        else { return nil }
        let (seconds, isTooLong) = number.multipliedReportingOverflow(by: unit.seconds)
        return isTooLong ? nil : seconds
    }

    /// The text of a duration, in the largest unit that it is a multiple of.
    package static func of(seconds: Int) -> String {
        let unit = self.units.first { seconds >= $0.seconds && seconds.isMultiple(of: $0.seconds) }
        return unit.map { "\(seconds / $0.seconds)\($0.letter)" } ?? "\(seconds)s"
    }
}
