internal import Foundation
internal import PeerdKit

/// A backup.
package struct BackupAnswer: Answer {
    package var path: String
    package var timeMs: Int64
    package var bytes: Int
    package var warning: String?

    init(_ backup: Backup) {
        self.warning = backup.warning
        (self.path, self.timeMs) = (backup.file.path, backup.date.millisecondsSince1970)
        self.bytes = backup.byteCount
    }

    /// Whether there still is a file of that name.
    package struct Presence: Answer {
        package var isThere: Bool
    }
}

/// The plan of backups.
package struct BackupScheduleAnswer: Answer {
    package var everySeconds: Int
    package var keep: Int
    package var folder: String

    package init(everySeconds: Int, keep: Int, folder: String) {
        (self.everySeconds, self.keep, self.folder) = (everySeconds, keep, folder)
    }
}

/// The plan, the last backup, and the last failure of the plan.
package struct BackupStatusAnswer: Answer {
    package var schedule: BackupScheduleAnswer?
    package var last: Joined<BackupAnswer, BackupAnswer.Presence>?
    package var nextMs: Int64?
    package var failure: String?
    package var failureAdvice: String?
    package var failureMs: Int64?

    init(_ status: BackupStatus) {
        self.schedule = status.schedule.map {
            BackupScheduleAnswer(everySeconds: $0.intervalSeconds, keep: $0.keptCount, folder: $0.folder.path)
        }
        self.last = status.last.map {
            Joined(BackupAnswer($0), BackupAnswer.Presence(isThere: access($0.file.path, F_OK) == 0))
        }
        self.nextMs = status.next?.millisecondsSince1970
        (self.failure, self.failureAdvice) = (status.failure?.message, status.failure?.advice)
        self.failureMs = status.failureDate?.millisecondsSince1970
    }

    /// Sentences without full stops: the last backup, the plan, and what is wrong.
    package var sentences: [String] {
        let last = self.last.map { last in
            "last \(PlainText.time(last.timeMs)) in \(last.path)" + (last.isThere ? "" : ", where it no longer is")
                + (last.warning.map { "; \($0)" } ?? "")
        }
        var sentences = [last ?? "none yet"]
        if let schedule {
            let every = DurationText.of(seconds: schedule.everySeconds)
            sentences.append("every \(every) to \(schedule.folder), keeping \(schedule.keep)")
        }
        if let failure {
            let when = self.failureMs.map { PlainText.time($0) } ?? "?"
            sentences.append("failed \(when): \(failure) \(self.failureAdvice ?? "")")
        }
        return sentences
    }
}
