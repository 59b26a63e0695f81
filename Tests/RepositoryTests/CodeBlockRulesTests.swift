import Testing

@Suite struct CodeBlockRulesTests {
    @Test func `each block of Swift in a document or a comment is part of an example`() throws {
        let documents = try Repository.files(withExtensions: ["md"])
        let sources = try Repository.swiftFiles()
        let examples = sources.filter { $0.path.hasPrefix("Examples/") }
        let commented = sources.filter { $0.module != nil }
        let violations = CodeBlockRules.violations(in: documents + commented, examples: examples)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    @Test(arguments: [
        "README.md", "Sources/PeerdKit/PeerdKit.docc/FirstWorkspace.md", "Sources/PeerdKit/PeerdKit.docc/Observing.md",
        "Sources/PeerdKit/PeerdKit.docc/WhatMergesHow.md", "Sources/PeerdKit/PeerdKit.docc/BeingOffline.md",
        "Sources/PeerdKit/PeerdKit.docc/Embedding.md",
    ])
    func `a document for users shows code`(path: String) throws {
        let file = SourceFile(path: path, text: try Repository.text(path))
        #expect(!CodeBlockRules.blocks(in: file).blocks.isEmpty)
    }

    private static let example = SourceFile(
        path: "Examples/A/Sources/A/A.swift",
        text: "enum A {\n    static func run() {\n        let a = 1\n\n        print(a)\n    }\n}\n"
    )

    private static func violations(_ text: String, path: String = "Sources/A/A.docc/A.md") -> [String] {
        CodeBlockRules.violations(in: [SourceFile(path: path, text: text)], examples: [self.example])
    }

    @Test(arguments: [
        "```swift\nlet a = 1\n\nprint(a)\n```\n",
        "1. One:\n\n   ```swift\n   static func run() {\n       let a = 1\n   ```\n",
        "```sh\nprint(b)\n```\n",
        "print(b)\n",
    ])
    func `a block of an example is allowed, whatever its indentation, and so are other languages`(text: String) {
        #expect(Self.violations(text).isEmpty)
    }

    @Test(arguments: [
        "```swift\nlet a = 2\n```\n",
        "```swift\nlet a = 1\nprint(a)\n```\n",
        "```swift\nprint(a)\n\nlet a = 1\n```\n",
        "```swift\nlet a = 1\n```\n```swift\nlet b = 1\n```\n",
        "```swift\n```\n",
        "```\nlet a = 1\n```\n",
    ])
    func `a block that no example has, and one without a language, are found`(text: String) {
        #expect(Self.violations(text).count == 1)
    }

    @Test func `a drawing outside of the library's documentation needs no language`() {
        #expect(Self.violations("```\nA -> B\n```\n", path: "A.md").isEmpty)
    }

    @Test func `comments are read like documents, and code is not`() {
        let path = "Sources/A/A.swift"
        let comment = "    /// Does it.\n    ///\n    /// ```swift\n    /// let a = 2\n    /// ```\n    func b() {}\n"
        #expect(Self.violations(comment, path: path) == ["\(path):4: no example contains this block"])
        #expect(Self.violations(comment.replacing("= 2", with: "= 1"), path: path).isEmpty)
        let text = "let text = \"\"\"\n    ```swift\n    let a = 2\n    ```\n    \"\"\"\n"
        #expect(Self.violations(text, path: path).isEmpty)
    }
}
