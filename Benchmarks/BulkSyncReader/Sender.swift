import Foundation
import PeerdKit

/// The machine that has everything.
enum Sender {
    private static let importedAtOnce = 10_000

    static func make(at directory: URL, objectCount: Int) async throws {
        let workspace = try await Workspace.create(at: directory, name: "sender")
        for first in stride(from: 0, to: objectCount, by: self.importedAtOnce) {
            let numbers = first..<min(objectCount, first + self.importedAtOnce)
            try await workspace.importObjects(from: SyntheticObjects.json(numbers))
        }
        await workspace.close()
    }

    static func serve(_ directory: URL) async throws {
        let workspace = try await Workspace.open(at: directory)
        try await workspace.startSync(discovers: false)
        // Not `print`, which keeps a line back that goes to a pipe.
        FileHandle.standardOutput.write(Data("\(try await workspace.invite().text)\n".utf8))
        while readLine() != nil {}
        await workspace.close()
    }
}
