import Foundation
import HabitsModel
import PeerdKit

/// Shows the routines of a day, now and after each change, until all is done; the application is another process.
@main struct HabitsWidget {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            FileHandle.standardError.write(Data("usage: HabitsWidget DIRECTORY DATE\n".utf8))
            exit(64)
        }
        let directory = URL(fileURLWithPath: CommandLine.arguments[1])
        let workspace = try await Workspace.open(at: directory, access: .readOnly)
        var shown: Today?
        for try await delta in try workspace.changes(of: .everything) where !delta.hasMore {
            let today = try await workspace.read { try Today(CommandLine.arguments[2], in: $0) }
            if today != shown { print(today.text, terminator: "\n\n") }
            if today.isDone { break }
            shown = today
        }
        await workspace.close()
    }
}
