import CRDTCore
import Engine
import Foundation
import LocalAPI
import PeerdKit
import Testing

/// Deletions that take several transactions.
struct RemovalTests {
    private final class Place {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-rm-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: self.url) }
    }

    private let place = Place()

    @Test func `what was deleted before the version changed is not denied`() async throws {
        let workspace = try await Workspace.create(at: self.place.url, name: "laptop")
        let top = try await workspace.write { try $0.create("folder") }
        try await workspace.write { transaction in for _ in 0..<20 { try transaction.create("note", in: top) } }
        let version = try #require(try await workspace.object(top)).version
        let conditions = [(object: top.description, version: version)]
        do {
            _ = try await workspace.remove(top, on: nil, if: conditions, upTo: 16) { _ in
                _ = try? await workspace.write { try $0.set(Property<String>("title"), to: "kept", on: top) }
            }
            Issue.record("It is deleted although it was edited meanwhile.")
        } catch let problem as Problem {
            #expect(problem.code == "version-changed")
            #expect(problem.message.contains("You named version"))
            #expect(problem.message.hasSuffix(" One transaction of this was written before, and stays."))
            #expect(!problem.message.contains("Nothing was written"))
            #expect(!problem.detail.contains("Nothing was written"))
        }
        // Nothing was written behind the edit.
        #expect(try await workspace.count(.all.filtered(type: "note")) == 18)
        do {
            _ = try await workspace.remove(top, on: nil, if: conditions) { _ in }
            Issue.record("It is deleted although it was edited before.")
        } catch let problem as Problem {
            #expect(problem.message.hasSuffix(" Nothing was written."))
        }
    }
}
