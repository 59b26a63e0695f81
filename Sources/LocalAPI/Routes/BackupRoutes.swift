internal import CRDTCore
internal import Foundation
internal import NIOHTTP1
internal import PeerdKit
internal import Persistence

/// Backups of the data directory.
///
/// Only the owner of the directory has them made, over the socket. Programs and pages that come over loopback neither
/// choose where a file with secret keys is put, nor make so many that the older ones are removed.
struct BackupRoutes: Sendable {
    let workspace: Workspace

    var routes: [Route] {
        [
            Route(.GET, "/api/backup") { _ in BackupStatusAnswer(self.workspace.backupStatus()) },
            Route(.POST, "/api/backup") { try await self.backUp($0) },
            Route(.PUT, "/api/backup/schedule") { try await self.setSchedule($0) },
            Route(.DELETE, "/api/backup/schedule") { request in
                try request.requireOwner("Backups are made and planned", advice: "Use “peerd backup”.")
                try await self.workspace.setBackupSchedule(nil)
                return Response.noContent
            },
        ]
    }

    private func backUp(_ request: Request) async throws -> Work<BackupAnswer> {
        try request.requireOwner("Backups are made and planned", advice: "Use “peerd backup”.")
        let members = try Members(try await request.jsonOrNothing(), of: "The body")
        let file = try Self.url(try members.text("path"), "path")
        let replaces = try members.flag("replace")
        try Self.requireSeen(try members.text("seen_as"), file?.standardizedFileURL.deletingLastPathComponent())
        try members.requireNoOthers()
        return Work { progress in
            let tell: @Sendable (Double) -> Void = { progress("backed up \(Int($0 * 100)) %") }
            guard let file else { return BackupAnswer(try await self.workspace.backUpBySchedule(progress: tell)) }
            return BackupAnswer(try await self.workspace.backUp(to: file, replacing: replaces, progress: tell))
        }
    }

    private func setSchedule(_ request: Request) async throws -> BackupStatusAnswer {
        try request.requireOwner("Backups are made and planned", advice: "Use “peerd backup”.")
        let members = try Members(try await request.json(), of: "The body")
        let folder = try Self.url(try members.requiredText("folder"), "folder")
        try Self.requireSeen(try members.text("seen_as"), folder)
        let seconds = try members.number("every_seconds", in: BackupSchedule.secondsRange)
        let count = try members.number("keep", in: BackupSchedule.keptRange)
        try members.requireNoOthers()
        guard let folder, let seconds, let count else {
            throw Problem.badRequest("The body needs “every_seconds”, “keep” and “folder”.")
        }
        let schedule = try BackupSchedule(intervalSeconds: seconds, keptCount: count, folder: folder)
        try await self.workspace.setBackupSchedule(schedule)
        return BackupStatusAnswer(self.workspace.backupStatus())
    }

    /// Stops what would write to another folder than the one that the user sees under this name.
    ///
    /// A service may have a `/tmp` of its own, which is gone when it ends, and see nothing of `/home`.
    private static func requireSeen(_ name: String?, _ folder: URL?) throws {
        guard let name, let folder, FileState(of: folder.path)?.name != name else { return }
        throw PeerdError(
            .invalidArgument,
            "The daemon sees another folder \(folder.path) than you, since it runs as a service; nothing was written.",
            advice: "Name a folder that both see: the unit peerd@NAME has /var/lib/peerd-backups/NAME for backups."
        )
    }

    private static func url(_ path: String?, _ name: String) throws(Problem) -> URL? {
        guard let path else { return nil }
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw .badRequest("The member “\(name)” is an absolute path, without a NUL.")
        }
        return URL(fileURLWithPath: path)
    }
}
