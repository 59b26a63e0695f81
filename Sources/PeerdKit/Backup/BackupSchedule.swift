public import Foundation

/// The plan of regular backups: how often, how many are kept, and where.
public struct BackupSchedule: Hashable, Sendable, Codable {
    /// The seconds from one backup to the next.
    public let intervalSeconds: Int
    /// The number of backups that are kept; older ones of this machine are removed.
    public let keptCount: Int
    /// The folder for the backups.
    ///
    /// It must exist, so that a disk that is not there is noticed.
    public let folder: URL

    /// The limits of intervals and of the number of backups.
    package static let (secondsRange, keptRange) = (1...366 * 86_400, 1...10_000)

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - intervalSeconds: the seconds from one backup to the next, up to a year.
    ///   - keptCount: the number of backups to keep, from 1 to 10,000.
    ///   - folder: the folder for the backups.
    /// - Throws: ``PeerdError`` with `invalidArgument` if a number is out of its range.
    public init(intervalSeconds: Int, keptCount: Int, folder: URL) throws {
        guard Self.secondsRange.contains(intervalSeconds), Self.keptRange.contains(keptCount) else {
            throw PeerdError(
                .invalidArgument,
                "Backups are at most a year apart, at least a second, and between 1 and 10,000 of them are kept.",
                advice: "Choose other numbers."
            )
        }
        self.intervalSeconds = intervalSeconds
        self.keptCount = keptCount
        self.folder = folder
    }

    /// Decodes a plan, and refuses numbers out of their range: a file may have been damaged or edited.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            intervalSeconds: try values.decode(Int.self, forKey: .intervalSeconds),
            keptCount: try values.decode(Int.self, forKey: .keptCount),
            folder: try values.decode(URL.self, forKey: .folder)
        )
    }
}

/// The state of the backups of a workspace.
public struct BackupStatus: Hashable, Sendable, Codable {
    /// The plan; nil if backups are made only when somebody asks for them.
    public let schedule: BackupSchedule?
    /// The last backup that was made, whoever asked for it.
    public let last: Backup?
    /// The time of the next backup of the plan, if it succeeds.
    public let next: Date?
    /// The failure of the last attempt by the plan; nil if it succeeded.
    public let failure: PeerdError?
    /// The time of that failure.
    public let failureDate: Date?
}

/// The names of regular backups, which sort by time.
struct BackupNames {
    /// What the names of all backups of one device begin with.
    let beginning: String
    private static let ending = ".peerd-backup"
    private static let digitCount = 16

    init(_ identity: Workspace.Identity) {
        let workspace = identity.membership.workspace.description.prefix(Self.digitCount)
        let device = identity.device.description.prefix(Self.digitCount)
        self.beginning = "peerd-\(workspace)-\(device)-"
    }

    func name(at milliseconds: UInt64) -> String {
        self.beginning + Self.form.string(from: Date(timeIntervalSince1970: Double(milliseconds) / 1000)) + Self.ending
    }

    /// Returns whether a name is one that `name(at:)` makes.
    func contains(_ name: String) -> Bool {
        guard name.hasPrefix(self.beginning), name.hasSuffix(Self.ending) else { return false }
        let time = name.dropFirst(self.beginning.count).dropLast(Self.ending.count)
        return Self.form.date(from: String(time)).map { Self.form.string(from: $0) == time } ?? false
    }

    /// Removes all but the last ones in a folder.
    func prune(_ folder: String, keeping count: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { self.contains($0) }.sorted()
        for name in names.dropLast(count) {
            guard unlink("\(folder)/\(name)") == 0 else {
                throw PrivateFile.failure("\(folder)/\(name)", "cannot be removed")
            }
        }
    }

    /// ISO 8601 without colons, which not every file system has.
    private static var form: DateFormatter {
        let form = DateFormatter()
        form.locale = Locale(identifier: "en_US_POSIX")
        form.timeZone = TimeZone(identifier: "UTC")
        form.dateFormat = "yyyyMMdd'T'HHmmss.SSS'Z'"
        return form
    }
}
