import CRDTCore
import Foundation
import NIOHTTP1
import PeerdKit
import Testing

@testable import LocalAPI

/// The types of the answers say the same as the documents of the API.
struct AnswerDocumentTests {
    /// Answers that PeerdKit writes: files of its own, which are described here for those who read them.
    private static let foreign: Set<String> = ["GET /api/export", "GET /api/snapshots/{id}"]
    /// Lines of answers, which the document has in words alone, and what is joined with other answers on the way.
    private static let lines: Set<String> = ["ConflictLine", "ProgressLine", "ProblemLine", "Author"]

    private static let messages: [String: any Answer.Type] = [
        "hello": Hello.self, "delta": Joined<DeltaAnswer, MessageHead>.self, "page": LivePage.self,
        "status": LiveStatus.self, "ack": Acknowledgement.self, "pong": Pong.self, "error": LiveProblem.self,
    ]

    /// Routes as the server has them, with those of files and pages.
    private static func routes() async throws -> (routes: [Route], documents: [JSON]) {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-api-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let workspace = try await Workspace.create(at: url, name: "laptop")
        var server = ServerDescription(
            version: "0",
            platform: "",
            listen: nil,
            filesDirectory: url.appendingPathComponent("files").path
        )
        server.pagesDirectory = url.path
        let service = APIService(workspace, server, access: nil)
        var documents: [JSON] = []
        for name in ["openapi", "asyncapi"] {
            let head = try RequestHead(method: .GET, target: "/api/\(name).json", headers: [:], entryPoint: .process)
            guard case .bytes(let bytes) = await service.respond(to: Request(head: head, body: .empty)).body else {
                continue
            }
            documents.append(try JSON.answer(bytes))
        }
        await workspace.close()
        return (service.router.routes, documents)
    }

    /// The schemas of the JSON with which routes answer, by method and path.
    private static func answers(of document: SchemaDocument) -> [String: (schema: JSON, place: String)] {
        var found: [String: (JSON, String)] = [:]
        for (path, methods) in document.root["paths"]?.members ?? [:] {
            for (method, operation) in methods.members {
                for (status, response) in operation["responses"]?.members ?? [:] where status.hasPrefix("2") {
                    guard let schema = response["content"]?["application/json"]?["schema"] else { continue }
                    found["\(method.uppercased()) \(path)"] = (schema, "\(method) \(path)")
                }
            }
        }
        return found
    }

    @Test func `each route answers with what the document says, and each type is in it`() async throws {
        let (routes, documents) = try await Self.routes()
        let document = SchemaDocument(try #require(documents.first))
        let answers = Self.answers(of: document)
        var (names, differences): (Set<String>, [String]) = ([], [])
        var (typed, expected): (Set<String>, Set<String>) = ([], [])
        for route in routes where !route.answers.isEmpty {
            let path = route.path.replacing("…}", with: "}").replacing("?}", with: "}")
            let name = "\(route.method.rawValue) \(path)"
            typed.insert(name)
            guard let (schema, place) = answers[name] else {
                differences.append("\(name): the document has no JSON")
                continue
            }
            for type in route.answers {
                let shape = try AnswerShape.of(type, &names)
                differences += document.differences(shape, schema, place)
                differences += Self.losses(type, shape)
            }
        }
        for (name, answer) in answers where !Self.foreign.contains(name) {
            let objects = document.objects(in: answer.schema, answer.place)
            // Documents and values of properties have no form.
            let isFree = objects.isEmpty || answer.schema == .object(["type": .string("object")])
            if isFree { continue }
            if !typed.contains(name) { differences.append("\(name): the route has no type") }
            expected.formUnion(objects)
        }
        let problem = (JSON.object(["$ref": .string("#/components/schemas/Problem")]), "problem")
        differences += document.differences(try AnswerShape.of(Problem.self, &names), problem.0, problem.1)
        differences += expected.subtracting(document.matched).map { "\($0): no type is like that" }
        #expect(differences.isEmpty, "\(differences.sorted().joined(separator: "\n"))")
        #expect(typed.count > 40 && expected.count > 60, "\(typed.count) routes and \(expected.count) objects")

        let live = SchemaDocument(try #require(documents.last))
        let sent = live.root["operations"]?["send"]?["messages"]?.elements ?? []
        let sentNames = Set(sent.compactMap { $0["$ref"]?.text?.split(separator: "/").last.map(String.init) })
        #expect(sentNames == Set(Self.messages.keys))
        for (name, type) in Self.messages {
            let schema = try #require(live.root["components"]?["messages"]?[name]?["payload"])
            let shape = try AnswerShape.of(type, &names)
            let found = live.differences(shape, schema, name) + Self.losses(type, shape)
            #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
        }
        #expect(try Self.declared() == names.union(Self.lines))
    }

    /// What does not come back of JSON that is decoded and encoded again.
    private static func losses<Content: Answer>(_ type: Content.Type, _ shape: AnswerShape) -> [String] {
        [shape.sample, shape.emptySample].compactMap { json in
            let back = (try? json.decoded(as: type)).map { JSON($0) }
            return back == json
                ? nil : "\(type): of \(json.canonicalText) comes back \(back?.canonicalText ?? "an error")"
        }
    }

    /// The names of the types in the sources, and in none of the tests.
    private static func declared() throws -> Set<String> {
        let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Sources/LocalAPI").standardized
        var names: Set<String> = []
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /struct (\w+)(?:<[^>]*>)?: (?:Sparse)?Answer\b/) {
                names.insert(String(match.output.1))
            }
        }
        return names.subtracting(["Joined"])
    }

    @Test func `names that look alike stay two, and nothing of a value is lost`() throws {
        let values = NamedValues<DifferenceAnswer.Values>([
            "é": .init(before: .double(1), after: .int(.max)), "e\u{301}": .init(before: .null),
        ])
        let json = JSON(values)
        #expect(
            json.canonicalText
                == "{\"e\u{301}\":{\"before\":null},\"é\":{\"after\":9223372036854775807,\"before\":1.0}}"
        )
        #expect(try json.decoded() == values)
        #expect(try JSON.answer(Array(json.canonicalText.utf8)) == values)
    }

    @Test func `nil is null, or missing where an answer has some members alone`() throws {
        let fork = JSON.object(["replica": .string("r"), "device_name": .string("d"), "forks": .int(2)])
        #expect(JSON(try fork.decoded(as: ForkAnswer.self)) == fork)
        #expect(JSON(RestampAnswer(restamped: [])).canonicalText == "{\"restamped\":[]}")
        #expect(JSON(FolderAnswer(entries: [], next: nil)).canonicalText == "{\"entries\":[],\"next\":null}")
        let wait = #"{"changes":1,"device_name":"d","reason":"new-word","replica":"r","sequence":7}"#
        let read: WaitAnswer = try JSON.answer(Array(wait.utf8))
        #expect(read.reason.known == nil && JSON(read).canonicalText == wait)
    }

    @Test(arguments: [
        "", "[]", "null", "{}", #"{"replica":"r","device_name":"d"}"#,
        #"{"replica":"r","device_name":"d","forks":null}"#, #"{"replica":"r","device_name":"d","forks":"2"}"#,
        #"{"replica":"r","device_name":"d","forks":2.0}"#, #"{"replica":1,"device_name":"d","forks":2}"#,
    ])
    func `an answer without what must be there is not understood`(text: String) {
        #expect(throws: APIConnectionError.notUnderstood) { try JSON.answer(Array(text.utf8), as: ForkAnswer.self) }
    }

    @Test func `what a newer version adds is ignored, and what it leaves out of the optional is nil`() throws {
        let text = #"{"replica":"r","device_name":"d","forks":2,"color":{"deep":[[[1]]]}}"#
        #expect(try JSON.answer(Array(text.utf8), as: ForkAnswer.self).forks == 2)
        #expect(try JSON.answer(Array("{\"entries\":[]}".utf8), as: FolderAnswer.self).next == nil)
    }
}
