internal import Foundation
internal import NIOConcurrencyHelpers
internal import Persistence

/// The file `config`: what the program remembers for its own convenience.
///
/// Losing it loses no data, but the plan of backups.
package struct Settings: Codable, Equatable, Sendable {
    /// Where the daemon listened last, as HOST:PORT.
    package var listen: String?
    /// The plan of regular backups, and how the last ones went.
    var backups: Backups?

    private static let lock = NIOLock()

    struct Backups: Codable, Equatable, Sendable {
        var schedule: BackupSchedule?
        var last: Backup?
        /// Milliseconds since 1970.
        var lastScheduledTime: UInt64?
        /// Where the file system of the folder began when the plan was made.
        var mountPoint: String?
        var failure: PeerdError?
        var failureTime: UInt64?
    }

    package init(listen: String? = nil) { self.listen = listen }

    /// The settings of a directory; empty if there are none, or if the file is damaged.
    package static func load(_ paths: DirectoryPaths) throws(PeerdError) -> Settings {
        try self.read(paths) ?? Settings()
    }

    /// Nil if the file is damaged.
    ///
    /// Throws if it cannot be read now: whoever took that for an empty file would write over the plan of backups.
    private static func read(_ paths: DirectoryPaths) throws(PeerdError) -> Settings? {
        do throws(RegularFile.Failure) {
            let bytes = try RegularFile.content(of: paths.settings, atMost: self.byteCountMax)
            return try? JSONDecoder().decode(Settings.self, from: Data(bytes))
        } catch {
            switch error {
            case .absent: return Settings()
            case .tooLong: return nil
            case .notRegular, .hasOtherNames, .system: throw PeerdError(error, paths.settings)
            }
        }
    }

    /// Says that the file is there and cannot be read as settings; nil if all is well.
    package static func damage(_ paths: DirectoryPaths) throws(PeerdError) -> String? {
        guard try self.read(paths) == nil else { return nil }
        return """
            \(paths.settings) is damaged, so the plan of backups and the address where the daemon listened last are \
            not known
            """
    }

    /// What to do about a damaged file.
    package static let damageAdvice =
        "set the backups again with \"peerd backup --every\"; the next change of the settings keeps the file as "
        + "config.damaged"

    /// Changes some of the settings of a directory; one at a time does so.
    package static func update(_ paths: DirectoryPaths, _ body: (inout Settings) -> Void) throws {
        try self.lock.withLock {
            var settings = try self.load(paths)
            if try self.damage(paths) != nil { rename(paths.settings, paths.settings + ".damaged") }
            body(&settings)
            try settings.save(paths)
        }
    }

    private func save(_ paths: DirectoryPaths) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let data = try encoder.encode(self)
        try data.withUnsafeBytes { try PrivateFile.write($0, to: paths.settings) }
    }

    private static let byteCountMax = 64 << 10
}
